/** Text of events inside Markdown, as the Web UI renders it. Workflows import this file, so it is deterministic. */
import { visible } from './visible';

/**
 * Text of an event as plain text in Markdown: one line, nothing invisible, nothing that formats or links. An
 * underscore inside a word (`SALE_ORDER`) formats nothing and stays readable where Markdown is not rendered.
 */
export function plain(text: string): string {
  return visible(text).replace(
    /[\\`*{}[\]<>~|&$!#]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])|(?<=\w):(?=\/\/)|(?<=www)\./gi,
    '\\$&',
  );
}

/** Text of an event as a code span: fenced by more backticks than it holds in a row. */
export function code(text: string): string {
  const line = visible(text);
  const runs = line.match(/`+/g) ?? [];
  const fence = '`'.repeat(Math.max(0, ...runs.map((run) => run.length)) + 1);
  const pad = line.startsWith('`') || line.endsWith('`') || line.trim() === '' ? ' ' : '';
  return `${fence}${pad}${line}${pad}${fence}`;
}
