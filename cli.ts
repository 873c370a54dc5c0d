#!/usr/bin/env node
/**
 * The program `inventory`: one verb per process. Exit codes: 0 fine, 1 a check found something, 2 could not run.
 */
import './instrument';
import { Command } from 'commander';
import { registerAcceptGap } from './cli/acceptGap';
import { registerAdjust } from './cli/adjust';
import { registerArchive } from './cli/archive';
import { registerAudit } from './cli/audit';
import { EXIT } from './cli/context';
import { registerDeadLetters } from './cli/deadLetters';
import { registerParked } from './cli/parked';
import { registerReopen } from './cli/reopen';
import { registerReplay } from './cli/replay';
import { registerService } from './cli/service';
import { registerSetup } from './cli/setup';
import { registerTrace } from './cli/trace';
import { visible } from './visible';

const program = new Command('inventory')
  .description('Changes stock exactly once in effect for every business event that Kafka delivers.')
  .showHelpAfterError()
  .exitOverride();

registerService(program);
registerSetup(program);
registerAudit(program);
registerTrace(program);
registerAdjust(program);
registerArchive(program);
registerAcceptGap(program);
registerReplay(program);
registerDeadLetters(program);
registerParked(program);
registerReopen(program);

program.parseAsync().catch((error: unknown) => {
  // commander has said it already, and asking for help is no fault.
  if (error instanceof Error && 'exitCode' in error) {
    process.exitCode = error.exitCode === 0 ? EXIT.fine : EXIT.couldNotRun;
  } else {
    const message = error instanceof Error ? error.message : String(error);
    process.stderr.write(`inventory: ${message.split('\n').map(visible).join('\n')}\n`);
    process.exitCode = EXIT.couldNotRun;
  }
});
