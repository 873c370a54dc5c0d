/** No text from outside can forge a line, move a terminal or carry a document into a log. */
import fc from 'fast-check';
import { mongo } from 'mongoose';
import { createLogger } from '../log';
import { escapeInvisible, visible } from '../visible';
import { quoted } from '../visibility';

/** Whatever a terminal could take as an order, or a reader not see. A line ends with the one newline that is ours. */
const OBEYED = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028\u2029]|\p{Cf}/u;
const NASTY = 'a\u001b[2J\u009b31m\r\n{"level":50,"msg":"forged"}\u202e\u2028b\ud800';
const nasty = fc
  .array(fc.constantFrom(...NASTY, '\u0000', '\u0007', '\u{e0001}', '"', '\\', 'ä', '😀'))
  .map((c) => c.join(''));

function logged(out: 'json' | 'terminal', write: (log: ReturnType<typeof createLogger>) => void): string[] {
  const lines: string[] = [];
  write(createLogger('trace', out, (line) => lines.push(line)));
  return lines;
}

test('JSON: one line, nothing that a terminal obeys, and the same text when it is read back', () => {
  fc.assert(
    fc.property(nasty, nasty, (text, message) => {
      const [line, ...more] = logged('json', (log) =>
        log.warn({ workflowId: text, [text]: [text] }, message),
      );
      expect(more).toEqual([]);
      expect(line!.slice(0, -1)).not.toMatch(OBEYED);
      expect(line!.slice(0, -1)).not.toContain('\n');
      const read = JSON.parse(line!) as Record<string, unknown>;
      expect(read).toMatchObject({ level: 40, msg: message });
      if (text !== 'level' && !/\p{Cs}/u.test(text)) expect(read['workflowId']).toBe(text);
    }),
  );
});

test('terminal: one line for a message, and nothing of it is obeyed', () => {
  fc.assert(
    fc.property(nasty, (text) => {
      const [shown] = logged('terminal', (log) => log.warn({ workflowId: text }, `x${text}`));
      expect(shown!.replace(/\n/g, '')).not.toMatch(OBEYED);
      expect(shown!.split('\n')).toHaveLength(3);
    }),
  );
});

test('an error is its kind, texts and code: the documents that a driver hangs on it stay out', () => {
  const error = new mongo.MongoBulkWriteError({ message: `E11000 ${NASTY}`, code: 11000, writeErrors: [] }, {
    insertedIds: { 0: 'PAYLOAD' },
  } as never);
  Object.assign(error, { writeErrors: [{ err: { op: { customer: 'PAYLOAD' } } }] });
  const [line] = logged('json', (log) => log.error({ err: new Error('outer', { cause: error }) }, 'failed'));
  expect(line).toContain('E11000');
  expect(line).not.toContain('PAYLOAD');
  expect(Object.keys((JSON.parse(line!) as { err: object }).err).sort()).toEqual([
    'message',
    'stack',
    'type',
  ]);
  const [direct] = logged('json', (log) => log.error({ err: error }, 'failed'));
  expect(direct).not.toContain('PAYLOAD');
  expect((JSON.parse(direct!) as { err: object }).err).toMatchObject({ code: 11000 });
  const [shown] = logged('terminal', (log) => log.error({ err: error }, 'failed'));
  expect(shown!.replace(/\n/g, '')).not.toMatch(OBEYED);
  expect(shown).not.toMatch(/^\{"level"/m);
});

test('visible text and escaped JSON hold nothing that a terminal obeys; a query keeps a text inside its quotes', () => {
  fc.assert(
    fc.property(nasty, (text) => {
      expect(visible(text)).not.toMatch(OBEYED);
      expect(visible(text)).not.toContain('\n');
      const json = JSON.stringify({ text });
      expect(escapeInvisible(json)).not.toMatch(OBEYED);
      expect(JSON.parse(escapeInvisible(json))).toEqual(JSON.parse(json));
    }),
  );
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom("'", '\\', 'a', ' OR ')).map((c) => c.join('')),
      (text) => {
        // Only escaped quotes inside: the text cannot end the string that it stands in.
        expect(quoted(text)).toMatch(/^'(?:[^'\\]|\\.)*'$/);
      },
    ),
  );
});
