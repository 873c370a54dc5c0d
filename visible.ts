/** Text from outside (events, servers, arguments) on its way to a terminal. Deterministic: workflows use it as well. */

/** Control, formatting and unpaired characters as visible replacement characters: a terminal must not obey an event. */
export function visible(text: string): string {
  return text.replace(/[\p{C}\u2028\u2029]/gu, '\ufffd');
}

/**
 * The control, invisible and direction-changing characters that JSON leaves as they are, as `\uXXXX`. JSON says the
 * same with them escaped, and can no longer move the terminal on which somebody reads it.
 */
export function escapeInvisible(json: string): string {
  return json.replace(/[\u007f-\u009f\u2028\u2029]|\p{Cf}/gu, (character) =>
    Array.from({ length: character.length }, (_, unit) => character.charCodeAt(unit))
      .map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`)
      .join(''),
  );
}
