/** Input to running agents (LP-14): toy programs of both protocols, through the library and the command line. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import type { Event, InputAnswer, Run, RunOptions, RunOutcome } from '../../src/index.ts';
import { fixture, isRunning, kill, linesOf, root, spools, until, usePlace } from './cli.ts';
import { verifies } from './verifies.ts';

type Library = typeof import('../../src/index.ts');

const place = usePlace({ trust: true });
const LONG_MS = 120_000;
const built = join(root, 'dist/index.js');
const toy = (name: string) => [process.execPath, fixture(`${name}-talks.mjs`)];
const go = () => join(place.folder, 'go');
const answerTo = (text: string) => `${text.length} characters`;
const hold = () => `hold ${go()}`;

/** Starts a run, with its events as they arrive. */
async function talking(
  agent: string,
  prompt: string,
  more: Partial<RunOptions> = {},
): Promise<{ run: Run; events: Event[]; ended: () => Promise<RunOutcome> }> {
  const { run } = (await import(built)) as Library;
  const talk = run({
    agent,
    prompt,
    cwd: place.work,
    stateDir: place.state,
    env: { TACHO_HOME: place.state },
    command: toy(agent),
    acceptInput: true,
    ...more,
  });
  const events: Event[] = [];
  const read = (async () => {
    for await (const event of talk) events.push(event);
  })();
  const ended = async () => {
    await read;
    return talk.outcome;
  };
  return { run: talk, events, ended };
}

const TAKEN: InputAnswer = { taken: true };
const calls = (events: readonly Event[]) => events.some(({ kind }) => kind === 'call_requested');
const userTexts = (events: readonly Event[]) =>
  events.flatMap(({ kind, data }) =>
    kind === 'message_finished' && data.role === 'user' ? [data.text] : [],
  );

describe.each(['claude', 'acp'])('%s', (agent) => {
  verifies(
    'LP-14',
    `a text sent while ${agent} works arrives and is answered, and the run then ends normally`,
    async () => {
      const { run, events, ended } = await talking(agent, hold());
      await until(() => calls(events), 'the call');
      expect(run.say('Grüße 🚀\n"second"')).toEqual(TAKEN);
      expect(run.say('third')).toEqual(TAKEN);
      writeFileSync(go(), '');
      const outcome = await ended();
      expect(outcome).toMatchObject({ exit_reason: 'ok', message: '5 characters' });
      expect(userTexts(events)).toEqual([hold(), 'Grüße 🚀\n"second"', 'third']);
      expect(events.filter(({ kind }) => kind === 'problem' || kind === 'notice')).toEqual([]);
      expect(spools(place)).toEqual([]);
    },
    LONG_MS,
  );

  verifies(
    'LP-14',
    `an interrupt stops ${agent}: the run is cancelled and keeps its events`,
    async () => {
      const { run, events, ended } = await talking(agent, hold());
      await until(() => calls(events), 'the call');
      expect(run.interrupt('enough')).toEqual(TAKEN);
      const outcome = await ended();
      expect(outcome).toMatchObject({ exit_reason: 'cancelled', message: answerTo(hold()) });
      expect(outcome.tool_calls.map(({ status }) => status)).toEqual(['cancelled']);
      const notes = events.filter(({ kind }) => kind === 'notice').map(({ data }) => data);
      expect(notes).toEqual([{ code: 'interrupt', text: 'enough' }]);
    },
    LONG_MS,
  );

  verifies(
    'LP-14',
    `a text sent before an interrupt is what ${agent} does next`,
    async () => {
      const { run, events, ended } = await talking(agent, hold());
      await until(() => calls(events), 'the call');
      expect([run.say('do this instead'), run.interrupt()]).toEqual([TAKEN, TAKEN]);
      expect(await ended()).toMatchObject({
        exit_reason: 'ok',
        message: answerTo('do this instead'),
      });
    },
    LONG_MS,
  );

  verifies(
    'LP-14',
    `input for ${agent} after the end is refused, with the state`,
    async () => {
      const { run, ended } = await talking(agent, 'hello');
      await ended();
      const late = {
        taken: false,
        why: 'the agent has finished its work and takes no more input',
        state: 'ended',
        allowed: ['running'],
      };
      expect([
        run.say('late'),
        run.interrupt(),
        run.confirm({ callId: 'c-1', confirmed: true }),
      ]).toEqual([late, late, late]);
    },
    LONG_MS,
  );

  verifies(
    'LP-14',
    `a run of ${agent} started without input refuses it, and says how to enable it`,
    async () => {
      const plain = agent === 'acp' ? toy('acp') : [process.execPath, fixture('echo-agent.mjs')];
      const { run, ended } = await talking(agent, 'hello', { acceptInput: false, command: plain });
      await ended();
      expect(run.say('hello')).toEqual({
        taken: false,
        why: 'the run takes no input: start it with --accept-input',
        state: 'closed',
        allowed: [],
      });
    },
    LONG_MS,
  );

  verifies(
    ['LP-14', 'AG-18'],
    `a prompt of several megabytes reaches ${agent} intact, and input is still accepted`,
    async () => {
      const prompt = `${hold()}\n${'"ä"\n'.repeat(700_000)}`;
      const { run, events, ended } = await talking(agent, prompt);
      await until(() => calls(events), 'the call');
      expect(run.say('more')).toEqual(TAKEN);
      writeFileSync(go(), '');
      expect(await ended()).toMatchObject({ exit_reason: 'ok', message: answerTo('more') });
      const answers = events.flatMap(({ kind, data }) =>
        kind === 'message_finished' && data.role === 'assistant' ? [data.text] : [],
      );
      expect(answers).toEqual([answerTo(prompt), answerTo('more')]);
    },
    LONG_MS,
  );

  verifies(
    ['LP-14', 'ST-3'],
    `${agent} exits when tacho is killed, and the record is finished from its spool`,
    async () => {
      const flags = ['run', '--agent', agent, '--accept-input', '--output', 'json', hold()];
      const { child, done, pid } = place.start([...flags, ...standIn(agent)], { contract: 'cut' });
      let shown = '';
      child.stdout?.on('data', (piece) => {
        shown += piece;
      });
      await until(() => shown.includes('"tool_call_detected"'), 'the call');
      const others = place.left().filter((other) => other !== pid);
      kill(pid);
      await done;
      // The launcher exits with it; the agent remains, which is not done yet.
      await until(() => others.some(isRunning), 'the agent');
      writeFileSync(go(), '');
      await until(() => place.left().length === 0, 'the end of the agent');
      expect((await place.tacho(['runs', 'recover'])).code).toBe(0);
      const [run] = linesOf((await place.tacho(['runs', 'list', '--json'])).stdout);
      expect(run).toMatchObject({ exit_reason: 'ok' });
      expect(spools(place)).toEqual([]);
    },
    LONG_MS,
  );
});

/** The toy in place of the agent, for the command line. */
function standIn(agent: string): string[] {
  if (agent === 'acp') return ['--', ...toy('acp')];
  const text = `targets:\n  toy:\n    agent: claude\n    command: ${JSON.stringify(toy('claude'))}\n`;
  writeFileSync(join(place.work, 'tacho.yaml'), text);
  return ['--target', 'toy'];
}

verifies('LP-14', 'agents that accept no input say so', async () => {
  const { run, ended } = await talking('demo', 'hello', {
    command: undefined,
    args: ['--speed', '0'],
  });
  await ended();
  const answer = run.say('hello');
  expect(answer).toMatchObject({ taken: false, state: 'closed', allowed: [] });
  expect(answer).toHaveProperty('why', expect.stringContaining('takes no input while it runs'));
});

verifies(
  'LP-14',
  'a confirmation answers a request that the approval mode would refuse',
  async () => {
    for (const confirmed of [true, false]) {
      const { run, events, ended } = await talking('acp', 'ask');
      await until(() => events.some(({ kind }) => kind === 'permission_asked'), 'the question');
      expect(run.confirm({ callId: 'c-2', confirmed: true })).toMatchObject({
        taken: false,
        state: 'running',
      });
      expect(run.confirm({ callId: 'c-1', confirmed, message: 'because' })).toEqual(TAKEN);
      const outcome = await ended();
      expect(outcome.tool_calls.map(({ status }) => status)).toEqual([confirmed ? 'ok' : 'denied']);
    }
  },
  LONG_MS,
);

verifies('LP-14', 'a question is refused when no client is left to answer it', async () => {
  const { run, events, ended } = await talking('acp', 'ask');
  await until(() => events.some(({ kind }) => kind === 'permission_asked'), 'the question');
  expect(run.interrupt()).toEqual(TAKEN);
  const outcome = await ended();
  expect(outcome.exit_reason).toBe('cancelled');
});

verifies('LP-14', 'an agent that never asks for confirmation says so', async () => {
  const { run, events, ended } = await talking('claude', hold());
  await until(() => calls(events), 'the call');
  expect(run.confirm({ callId: 't-2', confirmed: true })).toMatchObject({
    taken: false,
    state: 'closed',
  });
  writeFileSync(go(), '');
  await ended();
});

verifies('LP-14', 'texts that are empty, too long or too many are refused', async () => {
  const { run, events, ended } = await talking('claude', hold());
  await until(() => calls(events), 'the call');
  const running = { taken: false, state: 'running', allowed: ['running'] };
  expect(run.say(' \n')).toMatchObject(running);
  expect(run.say('ä'.repeat(600_000))).toMatchObject(running);
  const answers = Array.from({ length: 101 }, (_, index) => run.say(`text ${index}`).taken);
  expect(answers.indexOf(false)).toBe(100);
  writeFileSync(go(), '');
  expect(await ended()).toMatchObject({ exit_reason: 'ok', message: answerTo('text 99') });
});

verifies('LP-14', 'input that an agent never processed is in the record', async () => {
  const { run, events, ended } = await talking('claude', hold());
  await until(() => calls(events), 'the call');
  expect(run.say('never read')).toEqual(TAKEN);
  run.abort();
  expect(await ended()).toMatchObject({ exit_reason: 'cancelled' });
  const notes = events.filter(({ kind }) => kind === 'notice').map(({ data }) => data);
  expect(notes).toEqual([{ code: 'input_unread', text: 'never read' }]);
});
