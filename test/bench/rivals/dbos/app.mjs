/**
 * Contender: DBOS with its kafkajs receiver. Each event becomes a durable workflow in PostgreSQL, and the workflow
 * posts one transaction. The posting is idempotent by its key, so it needs no step of its own around it.
 */
import { DBOS } from '@dbos-inc/dbos-sdk';
import { KafkaReceiver } from '@dbos-inc/kafkajs-receive';
import kafkajs from 'kafkajs';
import { READY, setting } from '../../../../dist/test/bench/consumers/consume.js';
import { Lanes } from '../../../../dist/test/bench/consumers/lanes.js';
import { openLedger, post } from '../../../../dist/test/bench/consumers/ledger.js';
import { readMovement } from '../../../../dist/test/bench/consumers/movement.js';

const ledger = await openLedger(setting('MONGO_URL'));
const lanes = new Lanes();
const receiver = new KafkaReceiver({ brokers: [setting('KAFKA_BROKERS')], logLevel: kafkajs.logLevel.ERROR });

async function moveStock(topic, partition, message) {
  const source = { topic, partition, offset: message.offset };
  const movement = readMovement(Buffer.from(message.value).toString(), source);
  const stocks = movement.legs.map((leg) => leg.stockId);
  await lanes.run(stocks, () => post(ledger, movement));
}
const workflow = DBOS.registerWorkflow(moveStock, { name: 'moveStock' });
receiver.registerConsumer(workflow, setting('BENCH_TOPICS').split(','), {
  config: { groupId: setting('KAFKA_GROUP_ID') },
  queueName: 'inventory',
});

DBOS.setConfig({
  name: 'bench',
  systemDatabaseUrl: setting('BENCH_POSTGRES_URL'),
  systemDatabasePoolSize: 10,
  logLevel: 'error',
});
await DBOS.launch();
// Polled every 20 ms: by default an event waits up to a second, at no gain in throughput.
await DBOS.registerQueue('inventory', {
  workerConcurrency: 1000,
  minPollingIntervalMs: 20,
  onConflict: 'always_update',
});
process.stdout.write(`${READY}\n`);
