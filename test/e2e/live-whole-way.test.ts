/** From an agent's output to a collector's store and its subscribers, with real processes at every step. */
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { allAgents } from '../../src/agents/registry.ts';
import type { LiveMessage } from '../../src/model/live.ts';
import type { RunOutcome } from '../../src/model/outcome.ts';
import { LiveProjector } from '../../src/projections/live/live.ts';
import { CHAOS } from '../chaos-agent.ts';
import {
  connectSocket,
  control,
  isError,
  isType,
  type LiveClient,
  type Message,
} from '../live-client.ts';
import { faultsOf, inputOf, outputOf, textsOf } from '../live-stream.ts';
import { startServe, storedIn } from '../serve-process.ts';
import { outcomeOf, recordingsIn, wholeRun } from '../test-agent.ts';
import {
  demo,
  linesOf as eventLines,
  finished,
  fixture,
  kill,
  type Result,
  type Row,
  root,
  until,
  usePlace,
} from './cli.ts';
import { verifies } from './verifies.ts';

const place = usePlace({ trust: true });
const { tacho } = place;
const LONG_MS = 300_000;

const outbox = () => {
  const folder = join(place.state, 'outbox');
  return existsSync(folder) ? readdirSync(folder) : [];
};
const socketOf = (url: string) => ({ path: url.replace('unix:', '') });

/** A client that gets everything from the start. */
async function watching(url: string): Promise<LiveClient> {
  const client = await connectSocket(socketOf(url));
  await client.handshake({ role: 'client' });
  client.send(control('subscribe_events', { filter: { from_seq: 0 } }, { ack_required: true }));
  await client.wait(({ type, data }) => type === 'ack' && data.acked.length === 0, 'subscription');
  return client;
}

/** The stderr of a sender, without clock warnings caused by delays on a busy machine. */
const complaints = (stderr: string) =>
  stderr.split('\n').filter((line) => line !== '' && !line.includes(' clock '));

/** The numbered lines of a client, by session. */
function linesOf({ lines, received }: LiveClient): Map<string, string[]> {
  const numbered = lines.filter((_, i) => typeof received[i].seq === 'number');
  return Map.groupBy(numbered, (line) => JSON.parse(line).session_id as string);
}

/** The rules that a stream fails, as judged by `tacho validate`; throws for a stream without a verdict. */
async function failedRules(args: string[], input: string | Buffer = ''): Promise<string[]> {
  const { stdout, stderr } = await tacho(['validate', '--json', ...args], { input });
  const report = JSON.parse(stdout);
  if (report.lines === 0 || report.verdict === 'not judged') throw new Error(stderr);
  return report.rules
    .filter(({ verdict }: Message) => verdict === 'failed')
    .map(({ id, examples }: Message) => `${id}: ${JSON.stringify(examples)}`);
}

/** Every recording of an agent as the lines of a session. */
async function recorded(id: string): Promise<Map<string, string[]>> {
  const agent = (await allAgents()).find((one) => one.id === id);
  if (agent === undefined) throw new Error(`no agent ${id}`);
  const sessions = new Map<string, string[]>();
  for (const recording of recordingsIn(join(root, 'src/agents', id, 'testdata'))) {
    const session_id = `${id}/${recording.scenario}/${recording.channel}`;
    const projector = new LiveProjector({
      session_id,
      call_timeout_ms: null,
      trace: null,
      abandoned_ms: null,
    });
    const messages = (await wholeRun(agent, recording)).flatMap((event) => projector.push(event));
    sessions.set(
      session_id,
      messages.map((message) => JSON.stringify(message)),
    );
  }
  return sessions;
}

verifies(
  ['LP-2', 'LP-7', 'CF-1'],
  'every recording of every agent reaches a subscriber and the store unchanged, and fails no rule',
  async () => {
    const { url, end } = await startServe(place.state);
    const client = await watching(url);
    const all = new Map<string, string[]>();
    const senders: Promise<Result>[] = [];
    for (const { id } of await allAgents()) {
      const sessions = await recorded(id);
      expect(sessions.size).toBeGreaterThan(0);
      for (const [session_id, lines] of sessions) all.set(session_id, lines);
      const file = join(place.folder, `${id}.jsonl`);
      writeFileSync(file, `${[...sessions.values()].flat().join('\n')}\n`);
      senders.push(tacho(['emit', '--to', url, '--json', '--wait', '120', file]));
    }
    for (const { code, stderr, records } of await Promise.all(senders)) {
      expect({ code, said: complaints(stderr) }).toEqual({ code: 0, said: [] });
      expect(records[0].bad).toBe(0);
    }
    expect(outbox()).toEqual([]);
    const count = [...all.values()].flat().length;
    await until(
      () => client.received.filter(({ seq }) => typeof seq === 'number').length >= count,
      `${count} messages`,
    );
    client.destroy();
    expect(await end('SIGTERM')).toBe(0);
    const came = linesOf(client);
    const stored = await storedIn(place.state);
    expect([came.size, stored.size]).toEqual([all.size, all.size]);
    for (const [session_id, lines] of all) {
      // Compared as text, so parsing gives the same values.
      expect(came.get(session_id), session_id).toEqual(lines);
      expect(stored.get(session_id), session_id).toEqual(lines);
    }
    const sent = join(place.folder, 'sent.jsonl');
    writeFileSync(sent, `${[...all.values()].flat().join('\n')}\n`);
    const got = join(place.folder, 'got.jsonl');
    writeFileSync(got, `${[...came.values()].flat().join('\n')}\n`);
    expect(await failedRules(['--against', sent, got])).toEqual([]);
    expect(await failedRules(['--stored'])).toEqual([]);
  },
  LONG_MS,
);

/** A run's record: its outcome, and its events with the inputs and outputs of calls. */
async function recordOf(script: string, url: string): Promise<{ outcome: Row; full: RunOutcome }> {
  const path = join(place.folder, `${script}.events`);
  const run = await tacho(demo(script, '--live', url, '--events', path));
  expect(complaints(run.stderr).filter((line) => line.includes('live:'))).toEqual([]);
  const { run_id } = run.records[0];
  const { stdout } = await tacho(['runs', 'show', '--json', run_id]);
  return { outcome: JSON.parse(stdout), full: outcomeOf(eventLines(readFileSync(path, 'utf8'))) };
}

/** The calls of a session as a receiver assembles them. */
function callsOf(messages: LiveMessage[]) {
  const answers = messages.filter(({ type }) => type === 'tool_call_response');
  // The exit code of a background command arrives after the response.
  const updates = messages
    .map(({ data }) => (data as Message).news)
    .filter((news) => news?.kind === 'call_updated');
  return messages
    .filter(({ type }) => type === 'tool_call_request')
    .map((request) => {
      const { call_id, name, native_name, parent_call_id } = request.data as Message;
      const mine = answers.filter(({ data }) => (data as Message).call_id === call_id);
      expect(mine).toHaveLength(1);
      const answer = mine[0] as LiveMessage;
      const { result, error } = answer.data as Message;
      const reports = [result ?? error, ...updates.filter((news) => news.call_id === call_id)];
      const status = reports.findLast((one) => one.status != null)?.status;
      const exit_code = reports.findLast((one) => one.exit_code != null)?.exit_code ?? null;
      return {
        ...{ id: call_id, name, native_name, status, exit_code, parent_id: parent_call_id },
        inputs: inputOf(request, messages),
        outputs: outputOf(answer, messages),
      };
    });
}

const SCRIPTS = [
  ...['default', 'parallel', 'denied', 'denied-end', 'subagent', 'agent-error', 'provider-error'],
  ...['tools', 'words', 'background', 'call-retry', 'max-steps', 'crash', 'cut', 'garbage'],
  ...['exit-early', 'long-line', 'flood'],
];

verifies(
  ['LP-2', 'LP-4', 'LP-7', 'CF-1'],
  "a subscriber to live runs gets each run's calls, results and end, and no rule fails",
  async () => {
    const { url, end } = await startServe(place.state);
    let shown = '';
    const tail = place.start(['tail', '--to', url, '--from', '0', '--json'], {
      seen: (sofar) => {
        shown = sofar;
      },
    });
    const runs = [];
    for (const script of SCRIPTS) runs.push({ script, ...(await recordOf(script, url)) });
    const ends = () => shown.match(/^\{"type":"session_end",.*\n/gm) ?? [];
    await until(() => ends().length === runs.length, 'the end of every run');
    tail.child.kill('SIGINT');
    const { code, stdout, records, stderr } = await tail.done;
    expect({ code, said: complaints(stderr) }).toEqual({ code: 0, said: [] });
    const stored = await storedIn(place.state);
    const numbered = records.filter(({ seq }) => seq !== null);
    const sessions = Map.groupBy(numbered, ({ session_id }) => session_id as string);
    expect(sessions.size).toBe(runs.length);
    for (const { script, outcome, full } of runs) {
      const messages = sessions.get(outcome.run_id) ?? [];
      expect(stored.get(outcome.run_id)?.map((line) => JSON.parse(line))).toEqual(messages);
      expect(faultsOf(messages, outcome.run_id), script).toEqual([]);
      const calls = full.tool_calls.map(({ duration_ms: _, ...call }) => call);
      expect(callsOf(messages), script).toEqual(calls);
      expect(calls.map(({ inputs, outputs, ...call }) => call)).toEqual(
        outcome.tool_calls.map(({ duration_ms: _, ...call }: Row) => call),
      );
      const last = messages.at(-1)?.data;
      expect(last, script).toMatchObject({
        status: outcome.exit_reason,
        ok: outcome.success,
        terminal_evidence: outcome.terminal_evidence,
        completeness: outcome.completeness,
        totals: { calls: outcome.tool_calls.length, steps: outcome.metrics.steps },
      });
    }
    expect(outbox()).toEqual([]);
    expect(await failedRules([], stdout)).toEqual([]);
    expect(await failedRules(['--stored'])).toEqual([]);
    expect(await end('SIGTERM')).toBe(0);
  },
  LONG_MS,
);

const go = () => join(place.folder, 'go');
const hold = () => `hold ${go()}`;
const input = (type: string, session_id: string, data: object, message_id: string) =>
  control(type, data, { session_id, message_id });

/** Starts a run of a toy program and waits, as a client, for its call. */
async function talkingRun(client: LiveClient, agent: string, prompt: string, ...flags: string[]) {
  const command = JSON.stringify([process.execPath, fixture(`${agent}-talks.mjs`)]);
  const config = `targets:\n  toy:\n    agent: ${agent}\n    command: ${command}\n`;
  writeFileSync(join(place.work, 'tacho.yaml'), config);
  const from = client.received.length;
  const run = place.start(['run', '--target', 'toy', '--output', 'json', ...flags, prompt]);
  const { session_id } = await client.wait(isType('tool_call_request'), 'the call', from);
  return { run, session_id: session_id as string };
}

for (const agent of ['claude', 'acp'])
  verifies(
    'LP-14',
    `a client's input to a run of ${agent} through the collector is accepted, and an interrupt stops the run`,
    async () => {
      const { url } = await startServe(place.state);
      const client = await watching(url);
      const flags = ['--live', url, '--accept-input'];
      const texts = (session: string) =>
        textsOf(client.received.filter(({ session_id, seq }) => session_id === session && seq));

      const talk = await talkingRun(client, agent, hold(), ...flags);
      client.send(input('user_input', talk.session_id, { content: 'Grüße 🚀\n"2"' }, 'i-1'));
      client.send(input('user_input', talk.session_id, { content: 'third' }, 'i-2'));
      // Input is processed in order: once an answer to nothing is refused, the run has both texts.
      const data = { call_id: 'none', confirmed: true };
      const correlation_id = `${talk.session_id}/none`;
      const nothing = input('tool_confirmation_response', talk.session_id, data, 'i-0');
      client.send({ ...nothing, correlation_id });
      await client.wait(refused('i-0'));
      writeFileSync(go(), '');
      const answered = await talk.run.done;
      expect(finished(answered)).toMatchObject({ exit_reason: 'ok', final_output: '5 characters' });
      await client.wait(ends(talk.session_id));
      for (const text of ['Grüße 🚀\n"2"', 'third'])
        expect(texts(talk.session_id)).toContainEqual({ type: 'text', text });

      rmSync(go());
      const stopped = await talkingRun(client, agent, hold(), ...flags);
      client.send(input('interrupt', stopped.session_id, { reason: 'enough' }, 'i-3'));
      expect(finished(await stopped.run.done).exit_reason).toBe('cancelled');
      const last = await client.wait(ends(stopped.session_id));
      expect(last.data.status).toBe('cancelled');

      client.send(input('user_input', stopped.session_id, { content: 'late' }, 'i-4'));
      await client.wait(refused('i-4'));
      expect(client.received.filter(isError('INPUT_INJECTION_RESTRICTED'))).toHaveLength(2);
    },
    LONG_MS,
  );

const refused = (id: string) => (one: Message) =>
  isError('INPUT_INJECTION_RESTRICTED')(one) && one.data.caused_by.message_id === id;
const ends = (session: string) => (one: Message) =>
  one.type === 'session_end' && one.session_id === session;

verifies(
  'LP-14',
  'a run started without input, and an agent that accepts none, say so to the client',
  async () => {
    const { url } = await startServe(place.state);
    const client = await watching(url);
    const { run, session_id } = await talkingRun(client, 'acp', hold(), '--live', url);
    client.send(input('user_input', session_id, { content: 'hello' }, 'i-1'));
    client.send(input('interrupt', session_id, { reason: null }, 'i-2'));
    for (const id of ['i-1', 'i-2']) {
      const { data } = await client.wait(refused(id));
      expect(data.message).toContain('--accept-input');
    }
    writeFileSync(go(), '');
    expect(finished(await run.done).exit_reason).toBe('ok');

    const from = client.received.length;
    const args = ['run', ...CHAOS, '--output', 'json', '--live', url, '--accept-input'];
    const deaf = place.start([...args, 'please', '--', '--script', 'hang-polite']);
    const started = await client.wait(isType('session_start'), 'the run', from);
    client.send(input('user_input', started.session_id, { content: 'hello' }, 'i-3'));
    const { data } = await client.wait(refused('i-3'));
    expect(data.message).toContain('takes no input while it runs');
    kill(deaf.pid, 'SIGTERM');
    await deaf.done;
    await client.wait(ends(started.session_id));
  },
  LONG_MS,
);
