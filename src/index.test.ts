import { expect, test } from 'vitest';
import type { Event } from './index.ts';
import { connect, convert, record, run } from './index.ts';

const failure = (call: () => unknown) => {
  try {
    call();
  } catch (error) {
    const { code, message } = error as { code: string; message: string };
    return [code, message];
  }
  return null;
};

const demo = { agent: 'demo', prompt: 'x' };

test('an unknown option is rejected with the option that it looks like', () => {
  const hints = {
    timeout_ms: 'timeoutMs',
    state_dir: 'stateDir',
    retry_wait_ms: 'retryWaitMs',
    max_cost: 'maxCostUsd',
    'keep-raw': 'keepRaw',
    promt: 'prompt',
  };
  for (const [given, meant] of Object.entries(hints))
    expect(failure(() => run({ ...demo, [given]: 1 }))).toEqual([
      'usage',
      `run: ${given}: unknown option; did you mean ${meant}?`,
    ]);
  const nested = { ...demo, live: { url: 'unix:x', token_file: 'y' } };
  expect(failure(() => run(nested))).toEqual([
    'usage',
    'run: live.token_file: unknown option; did you mean tokenFile?',
  ]);
  expect(failure(() => run({ ...demo, nonsense: 1 } as never))?.[1]).toMatch(
    /^run: nonsense: unknown option; expected one of: .*timeoutMs/,
  );
});

test('every function checks the types of its options, and reports all mistakes at once', () => {
  const wrong = { ...demo, timeoutMs: '5', args: 'a', approve: 'yes', signal: {}, loopGuard: 1 };
  expect(failure(() => run(wrong as never))).toEqual([
    'usage',
    [
      'run: timeoutMs must be a number from 1 to 2147483647',
      'run: args must be a list of strings',
      'run: approve must be one of default, edits, all',
      'run: signal must be an AbortSignal',
      'run: loopGuard must be a whole number of at least 2',
    ].join('\n'),
  ]);
  expect(failure(() => run(undefined as never))).toEqual([
    'usage',
    'run: must be an object of options',
  ]);
  expect(failure(() => record({ agent: 'demo', messages: 5 } as never))).toEqual([
    'usage',
    'record: messages must be an iterable of messages',
  ]);
  expect(failure(() => convert({ agent: 'demo', from: 'x' } as never))).toEqual([
    'usage',
    'convert: from must be one of stdout, session\nconvert: lacks the option input',
  ]);
  expect(failure(() => connect({ url: 'unix:x', redact: true } as never))).toEqual([
    'usage',
    'connect: redact must be a list of strings',
  ]);
  const old = 'unix:x' as never;
  expect(failure(() => connect(old))).toEqual(['usage', 'connect: must be an object of options']);
});

const RECORDING = `${import.meta.dirname}/agents/demo/testdata/default/stdout.jsonl`;

async function* counted(reads: { count: number }): AsyncGenerator<Uint8Array> {
  reads.count += 1;
  const { readFileSync } = await import('node:fs');
  yield readFileSync(RECORDING);
}

async function all(events: AsyncIterable<Event>): Promise<Event[]> {
  const list: Event[] = [];
  for await (const event of events) list.push(event);
  return list;
}

test('a recording is read when it is asked for, and once for its events and its outcome', async () => {
  const reads = { count: 0 };
  const recording = convert({ agent: 'demo', input: counted(reads) });
  await new Promise((done) => setTimeout(done, 10));
  expect(reads.count).toBe(0);
  const events = await all(recording);
  const outcome = await recording.outcome;
  expect([reads.count, outcome.success, outcome.run_id]).toEqual([1, true, events[0]?.run_id]);
  const both = convert({ agent: 'demo', input: counted(reads) });
  const [first, second] = await Promise.all([both.outcome, all(both)]);
  expect([reads.count, second.at(-1)?.run_id]).toEqual([2, first.run_id]);
});

test('a loop that is left stops the reading, unless the outcome was asked for', async () => {
  let closed = false;
  async function* endless(): AsyncGenerator<Uint8Array> {
    try {
      for (;;) yield* counted({ count: 0 });
    } finally {
      closed = true;
    }
  }
  const left = convert({ agent: 'demo', input: endless() });
  for await (const _ of left) break;
  while (!closed) await new Promise((done) => setTimeout(done, 1));
  await expect(left.outcome).rejects.toThrow('request `outcome` before you leave it');
  const asked = convert({ agent: 'demo', input: RECORDING });
  const { outcome } = asked;
  for await (const _ of asked) break;
  expect((await outcome).success).toBe(true);
});

test('an input that cannot be read rejects the loop and the outcome, and is handled once', async () => {
  const nowhere = () => convert({ agent: 'demo', input: '/nowhere' });
  await expect(all(nowhere())).rejects.toThrow('/nowhere');
  await expect(nowhere().outcome).rejects.toThrow('/nowhere');
});
