// Records a run from a program: npm install tacho, then `node library.mjs`. The demo agent needs no model and no network.
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { run } from 'tacho';

const demo = run({
  agent: 'demo',
  prompt: 'write a greeting',
  cwd: mkdtempSync(join(tmpdir(), 'tacho-example-')),
  args: ['--speed', '0'],
  timeoutMs: 60_000,
});

// Every event is in the journal before it is seen here. A slow reader slows the reading and loses nothing.
for await (const event of demo) {
  if (event.kind === 'call_requested') console.log(`${event.data.tool} ${event.data.call_id}`);
  if (event.kind === 'call_finished' && !event.data.ok) console.log(`  ${event.data.status}`);
}

const outcome = await demo.outcome;
const { metrics } = outcome;
console.log(
  `${outcome.exit_reason}: ${outcome.tool_calls.length} calls, ${metrics.tokens_used} tokens`,
);
console.log(outcome.message);
process.exitCode = outcome.success ? 0 : 1;
