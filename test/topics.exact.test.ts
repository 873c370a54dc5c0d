/** What is not exact, or could be read in two ways, is never accepted in silence. */
import { decode, record, judged, onEveryTopic, isDeadLetter } from './topics.judged';

describe('what is not exact is never accepted in silence', () => {
  const sale = (quantity: string, id = '"SO"') =>
    `{"saleOrderId":${id},"lines":[{"stockId":"S","quantity":${quantity}}]}`;

  test.each([
    'NaN',
    'Infinity',
    '-0',
    '0',
    '-0.0',
    '1e400',
    '1e-400',
    '1e999999999',
    '9007199254740993',
    '0x10',
    '+1',
    '.5',
    '5.',
    '1_000',
    '٣',
  ])('quantity %s', (quantity) => {
    expect(judged(decode(record('PAYMENT_SUCCESS', sale(quantity)))).became).toBe('dead-letter');
    expect(judged(decode(record('PAYMENT_SUCCESS', sale(JSON.stringify(quantity))))).became).toBe(
      'dead-letter',
    );
  });

  test.each(
    [
      '-0',
      '1.0',
      '1e3',
      '9007199254740993',
      '-9007199254740993',
      'true',
      'null',
      '[]',
      '{}',
      '{"$gt":""}',
      '"\\u0000"',
      '"\\ud83d"',
      JSON.stringify('x'.repeat(10_240)),
      JSON.stringify('é'.repeat(61)),
    ].map((id) => [id.slice(0, 30), id] as const),
  )('ID %s', (_, id) => {
    expect(judged(decode(record('PAYMENT_SUCCESS', sale('1', id)))).became).toBe('dead-letter');
  });

  test('a field given twice, with equal values too, in any object', () => {
    const twice = [
      '{"saleOrderId":"a","saleOrderId":"b","lines":[]}',
      '{"saleOrderId":"a","saleOrderId":"a","lines":[]}',
      '{"saleOrderId":"a","lines":[{"stockId":"S","quantity":"1","quantity":"1.0"}]}',
      '{"saleOrderId":"a","lines":[],"lines":{}}',
      '{"saleOrderId":"a","lines":[],"x":{"__proto__":1,"__proto__":1}}',
      '{"saleOrderId":"a","lines":[],"sale\\u004frderId":"a"}',
    ];
    for (const text of twice)
      expect(judged(decode(record('PAYMENT_SUCCESS', text))).became).toBe('dead-letter');
  });

  test('an event is only what it owns: nothing is inherited from __proto__ or constructor', () => {
    const inherited = [
      '{"__proto__":{"saleOrderId":"a","lines":[{"stockId":"S","quantity":"1"}]}}',
      '{"constructor":{"prototype":{"lines":[]}}}',
    ];
    for (const text of inherited)
      expect(judged(decode(record('PAYMENT_SUCCESS', text)))).toMatchObject({
        became: 'dead-letter',
        reason: expect.stringContaining('saleOrderId: missing'),
      });
    for (const topic of ['MERCHANT', 'PRODUCT_VARIANT']) {
      expect(
        isDeadLetter(
          judged(decode(record(topic, '{"op":"c","after":{"__proto__":{"id":"a","merchantId":"b"}}}'))),
        ),
      ).toBe(true);
    }
    expect(decode(record('PAYMENT_SUCCESS', sale('1', '"__proto__"')))).toMatchObject({
      command: { input: { referenceId: '__proto__' } },
    });
  });

  test('one UTF-8 byte order mark changes nothing; other encodings are refused', () => {
    const [bom, text] = [Buffer.from([0xef, 0xbb, 0xbf]), Buffer.from(sale('1'))];
    expect(decode(record('PAYMENT_SUCCESS', Buffer.concat([bom, text])))).toEqual(
      decode(record('PAYMENT_SUCCESS', text)),
    );
    const refused = [
      Buffer.concat([bom, bom, text]),
      Buffer.from(`\ufeff${sale('1')}`, 'utf16le'),
      Buffer.from(sale('1', '"caf\xe9"'), 'latin1'),
      Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22]),
      Buffer.from([0xc0, 0x80]),
    ];
    for (const bytes of refused) expect(onEveryTopic(bytes).every(isDeadLetter)).toBe(true);
  });
});
