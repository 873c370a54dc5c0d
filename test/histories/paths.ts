/** Every path through the workflows, as the recorder takes it on real servers. Their names are the files' names. */
import type { WorkflowHandle } from '@temporalio/client';
import type { Command, Leg, MoveStock } from '../../commands';
import type { Reopening, Resolution } from '../../decisions';

/** The real worker and the real ledger, with settings that make a path short. */
export interface Scene {
  /** Adds a stock with this much on hand. */
  stock(id: string, onHand: number): Promise<void>;
  refill(id: string, onHand: number): Promise<void>;
  /** Starts the command as the bridge does; `hasty` workers wait one second for a stock, and as long for a person. */
  start(command: Command, hasty?: boolean): Promise<WorkflowHandle>;
  startGroup(commands: Command[]): Promise<WorkflowHandle>;
  reopen(command: MoveStock, reopening: Reopening): Promise<WorkflowHandle>;
  handleOf(command: Command): WorkflowHandle;
  untilParked(handle: WorkflowHandle): Promise<void>;
  untilWaiting(handle: WorkflowHandle): Promise<void>;
  resolve(handle: WorkflowHandle, decision: Resolution['decision'], actor?: string): Promise<unknown>;
  /** Takes MongoDB away, and brings it back once an activity is pending. */
  withoutMongo(until: () => Promise<WorkflowHandle>): Promise<WorkflowHandle>;
}

let offset = 0;
const source = () => ({ topic: 'PAYMENT_SUCCESS', partition: 0, offset: String(offset++) });
const occurredAt = '2026-11-01T12:00:00.000Z';

/** `sale('SO-1', { A: '-2' })`; the reference type whose stock the recorder's workers refuse below zero is `USED`. */
function sale(
  referenceId: string,
  legs: Record<string, string>,
  referenceType: MoveStock['referenceType'] = 'SALE_ORDER',
) {
  const list: Leg[] = Object.entries(legs).map(([inventoryStockId, delta]) => ({ inventoryStockId, delta }));
  const input: MoveStock = {
    schema: 1,
    referenceType,
    referenceId,
    legs: list,
    occurredAt,
    source: source(),
  };
  return { type: 'moveStock', input } satisfies Command;
}
const used = (id: string, legs: Record<string, string>) => sale(id, legs, 'KITCHEN_TICKET_ITEM');

const merchant = (merchantId: string): Command => ({
  type: 'ensureDefaultLocation',
  input: { schema: 1, merchantId, source: source() },
});
const variant = (variantId: string, merchantId: string): Command => ({
  type: 'ensureInventoryItem',
  input: { schema: 1, variantId, merchantId, source: source() },
});

async function finished(handle: WorkflowHandle): Promise<WorkflowHandle> {
  await handle.result().catch(() => undefined);
  return handle;
}

/** An order that was edited after it was applied. */
async function conflict(scene: Scene, name: string): Promise<WorkflowHandle> {
  await scene.stock(name, 10);
  await finished(await scene.start(sale(name, { [name]: '-2' })));
  const edited = await scene.start(sale(name, { [name]: '-3' }));
  await scene.untilParked(edited);
  return edited;
}

async function short(scene: Scene, name: string): Promise<WorkflowHandle> {
  await scene.stock(name, 1);
  const refused = await scene.start(used(name, { [name]: '-3' }));
  await scene.untilParked(refused);
  return refused;
}

/** Each returns the workflow whose history is kept, as it stands then. */
export const PATHS: Record<string, (scene: Scene, name: string) => Promise<WorkflowHandle>> = {
  applied: async (scene, name) => {
    await scene.stock(name, 10);
    return finished(await scene.start(sale(name, { [name]: '-2' })));
  },
  duplicate: async (scene, name) => {
    await scene.stock(name, 10);
    const command = sale(name, { [name]: '-2' });
    await finished(await scene.startGroup([command]));
    return finished(await scene.start(command));
  },
  'mongodb-away': async (scene, name) => {
    await scene.stock(name, 10);
    return finished(await scene.withoutMongo(() => scene.start(sale(name, { [name]: '-2' }))));
  },
  'conflict-parked': conflict,
  'conflict-correct': async (scene, name) => {
    const handle = await conflict(scene, name);
    await scene.resolve(handle, 'correct');
    return finished(handle);
  },
  'conflict-retry-discard': async (scene, name) => {
    const handle = await conflict(scene, name);
    await scene.resolve(handle, 'retry');
    await scene.resolve(handle, 'discard');
    return finished(handle);
  },
  'refused-force': async (scene, name) => {
    const handle = await short(scene, name);
    await scene.resolve(handle, 'force');
    return finished(handle);
  },
  'refused-retry': async (scene, name) => {
    const handle = await short(scene, name);
    await scene.refill(name, 5);
    await scene.resolve(handle, 'retry');
    return finished(handle);
  },
  'refused-reopened': async (scene, name) => {
    const handle = await short(scene, name);
    await scene.resolve(handle, 'discard');
    const command = used(name, { [name]: '-3' });
    const again = await scene.reopen(command.input, { attempt: 2, actor: 'ana', reason: 'counted again' });
    await scene.untilParked(again);
    await scene.refill(name, 5);
    await scene.resolve(again, 'retry');
    return finished(again);
  },
  'two-persons': async (scene, name) => {
    const handle = await short(scene, name);
    await Promise.allSettled([scene.resolve(handle, 'force'), scene.resolve(handle, 'discard', 'ben')]);
    return finished(handle);
  },
  'taken-over': async (scene, name) => {
    const handle = await conflict(scene, name);
    await handle.terminate('by mistake');
    const command = sale(name, { [name]: '-3' });
    const again = await scene.start(command);
    await scene.untilParked(again);
    await scene.resolve(again, 'correct');
    return finished(again);
  },
  'unknown-stock-waiting': async (scene, name) => {
    const handle = await scene.start(sale(name, { [name]: '-2' }));
    await scene.untilWaiting(handle);
    return handle;
  },
  'unknown-stock-appeared': async (scene, name) => {
    const handle = await scene.start(sale(name, { [name]: '-2' }));
    await scene.untilWaiting(handle);
    await scene.stock(name, 10);
    return finished(handle);
  },
  'unknown-stock-discarded': async (scene, name) => {
    const handle = await scene.start(sale(name, { [name]: '-2' }));
    await scene.untilWaiting(handle);
    await scene.resolve(handle, 'discard');
    return finished(handle);
  },
  'unknown-stock-deadline': async (scene, name) =>
    finished(await scene.start(sale(name, { [name]: '-2' }), true)),
  'unknown-schema': async (scene, name) => {
    const command = sale(name, { [name]: '-2' });
    return finished(await scene.start({ ...command, input: { ...command.input, schema: 2 as 1 } }));
  },
  group: async (scene, name) => {
    await scene.stock(name, 10);
    return finished(
      await scene.startGroup([sale(`${name}-1`, { [name]: '-2' }), sale(`${name}-2`, { [name]: '-1' })]),
    );
  },
  'group-going-on-alone': async (scene, name) => {
    await scene.stock(name, 10);
    const members = [
      sale(`${name}-1`, { [name]: '-2' }),
      sale(`${name}-1`, { [name]: '-3' }),
      sale(`${name}-2`, { missing: '-1' }),
    ];
    return finished(await scene.startGroup(members));
  },
  'group-member': async (scene, name) => {
    await scene.stock(name, 10);
    const edited = sale(name, { [name]: '-3' });
    await finished(await scene.startGroup([sale(name, { [name]: '-2' }), edited]));
    const handle = scene.handleOf(edited);
    await scene.untilParked(handle);
    await scene.resolve(handle, 'correct');
    return finished(handle);
  },
  'catalogue-merchant': async (scene, name) => finished(await scene.start(merchant(name))),
  'catalogue-variant': async (scene, name) => finished(await scene.start(variant('espresso', name))),
  'catalogue-group': async (scene, name) =>
    finished(await scene.startGroup([merchant(name), variant('espresso', name)])),
};
