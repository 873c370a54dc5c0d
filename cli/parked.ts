import type { Command } from 'commander';
import type { ParkedView } from '../decisions';
import { EXIT, print, printJson, printTable, settings, visible, withTemporal } from './context';
import {
  filtered,
  PAGE_SIZE,
  parkedIds,
  parkedRows,
  viewOf,
  visibilityQuery,
  type Filter,
  type ParkedRow,
} from './parkedQuery';
import { registerResolve } from './resolve';

/** `inventory parked [list | show | resolve]`: what waits for a person. */
export function registerParked(program: Command): void {
  const parked = program
    .command('parked')
    .description('commands that wait for a person: list, show, resolve');
  filtered(parked.command('list', { isDefault: true }).description('list them, the newest first'))
    .option('--json', 'one JSON array, written as it is read')
    .action(list);
  parked
    .command('show')
    .description('what stands against a parked command, and what each decision would do')
    .argument('<ref>', 'a reference such as SALE_ORDER/SO-1, or a workflow ID')
    .option('--json')
    .action(show);
  registerResolve(parked);
}

/** Prints page by page, so that a list of any length needs the memory of one page. */
async function list(options: Filter & { json?: boolean }): Promise<void> {
  const config = settings();
  await withTemporal(config, async (temporal) => {
    const query = visibilityQuery(options, config.TEMPORAL_TASK_QUEUE);
    const printPage = options.json ? jsonPages() : tablePages();
    let page: ParkedRow[] = [];
    for await (const row of parkedRows(temporal, query)) {
      page.push(row);
      if (page.length < PAGE_SIZE) continue;
      printPage(page);
      page = [];
    }
    printPage(page, true);
  });
}

function tablePages(): (rows: ParkedRow[], last?: boolean) => void {
  let count = 0;
  return (rows, last = false) => {
    count += rows.length;
    if (rows.length > 0) {
      printTable(
        ['case', 'reference', 'since', 'stocks', 'workflow'],
        rows.map((row) => [
          row.case,
          row.reference,
          row.since,
          row.stocks.join(' ').slice(0, 60),
          row.workflowId,
        ]),
      );
    }
    if (last) print(count === 0 ? 'nothing is parked' : `${count} parked`);
  };
}

function jsonPages(): (rows: ParkedRow[], last?: boolean) => void {
  let before = '[';
  return (rows, last = false) => {
    for (const row of rows) {
      print(`${before}${JSON.stringify(row)}`);
      before = ',';
    }
    if (last) print(before === '[' ? '[]' : ']');
  };
}

async function show(ref: string, options: { json?: boolean }): Promise<void> {
  const config = settings();
  await withTemporal(config, async (temporal) => {
    const views: (ParkedView & { workflowId: string })[] = [];
    for (const workflowId of await parkedIds(temporal, ref, config.TEMPORAL_TASK_QUEUE)) {
      const view = await viewOf(temporal, workflowId);
      if (view) views.push({ ...view, workflowId });
    }
    if (views.length === 0) process.exitCode = EXIT.foundSomething;
    if (options.json) printJson(views);
    else if (views.length === 0) print(`nothing is parked under ${visible(ref)}`);
    else views.forEach(printView);
  });
}

function printView({
  workflowId,
  command,
  against,
  choices,
  ...view
}: ParkedView & { workflowId: string }): void {
  const { topic, partition, offset } = command.source;
  print(visible(`${command.referenceType} ${command.referenceId} is parked: ${view.case}`));
  print(visible(`  workflow  ${workflowId}`));
  print(visible(`  asked by  ${topic}, partition ${partition}, offset ${offset}`));
  print(`  parked    ${view.parkedAt}, refused at ${view.until} unless decided`);
  switch (against.outcome) {
    case 'CONFLICT': {
      const { source, recordedAt } = against.of;
      print(
        visible(
          `  recorded  by ${source.topic}, partition ${source.partition}, offset ${source.offset} at ${recordedAt}`,
        ),
      );
      printTable(
        ['  stock', 'recorded', 'asked', 'difference'],
        against.differences.map((d) => [`  ${d.inventoryStockId}`, d.recorded, d.asked, d.difference]),
        [1, 2, 3],
      );
      break;
    }
    case 'REFUSED':
      printTable(
        ['  short stock', 'on hand', 'wanted'],
        against.short.map((s) => [`  ${s.inventoryStockId}`, s.onHand, s.wanted]),
        [1, 2],
      );
      break;
    case 'UNKNOWN_STOCK':
      print(visible(`  missing   ${against.missing.join(', ') || 'none any more'}`));
  }
  print('decisions');
  printTable(
    ['  decision', 'possible', 'what it does, or why it is not possible'],
    choices.map(({ decision, fits, does }) => [`  ${decision}`, fits ? 'yes' : 'no', does]),
  );
}
