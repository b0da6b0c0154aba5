/** A session that grows is a run that grows: the same as if all of it had been imported at once. */
import {
  appendFileSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { verifies } from '../../../test/e2e/verifies.ts';
import { testFolder } from '../../../test/fixtures/folder.ts';
import { recordingsIn } from '../../../test/test-agent.ts';
import { allAgents, findAgent } from '../../agents/registry.ts';
import { jsonIn } from '../../lib/json.ts';
import type { Agent } from '../../model/agent.ts';
import type { Event } from '../../model/event.ts';
import { openIndex } from '../../store/index/index-db.ts';
import { openJournal } from '../../store/journal/journal.ts';
import { openStateDir } from '../../store/state-dir.ts';
import { lastChange } from '../../store/store-lock.ts';
import { removeRuns } from '../runs/remove.ts';
import { journalledEvents } from '../runs/replay.ts';
import { verifyRun } from '../runs/verify.ts';
import { GrowingRuns } from './growing-runs.ts';
import { Importer, importSessions } from './import.ts';
import type { ImportTarget } from './imported.ts';

const AGENTS = join(import.meta.dirname, '../../agents');

async function imported(agent: Agent, path: string, state_dir: string) {
  const target = { agent, path, by_name: false };
  const rows = await Array.fromAsync(importSessions([target], { state_dir, env: {}, redact: [] }));
  expect(rows.map(({ why }) => why)).toEqual([null]);
  return rows[0];
}

/** Imports into one store as a watcher does: what grew is kept open in memory. */
function follower(state_dir: string) {
  const state = openStateDir(state_dir);
  const index = openIndex(state);
  const journal = openJournal(state.journal, { index });
  const growing = new GrowingRuns<ImportTarget>();
  onTestFinished(async () => {
    await journal.close();
    index.close();
  });
  const parts = { state, index, journal, growing, env: {}, redact: [] };
  const take = async (agent: Agent, path: string) => {
    const importer = new Importer(parts);
    const row = await importer.take({ agent, path, by_name: false });
    importer.close();
    return row;
  };
  return { take, growing, journal, index };
}

async function eventsOf(state_dir: string, run_id: string): Promise<Event[]> {
  const state = openStateDir(state_dir);
  using index = openIndex(state);
  return await Array.fromAsync(journalledEvents(state, run_id, index));
}

/** The facts of a run, whatever the order in which its files were read. The digest depends on how it grew. */
function facts(events: readonly Event[]) {
  const said = events.map(({ kind, data, raw }) => {
    const { digest: _, ...kept } = data as { digest?: unknown };
    return JSON.stringify([kind, kept, raw]);
  });
  return said.sort();
}

const SESSIONS = (await allAgents()).flatMap((agent) => {
  if (agent.session === null || agent.session.read !== undefined) return [];
  return recordingsIn(join(AGENTS, agent.id, 'testdata'))
    .filter(({ channel, bytes }) => channel === 'session' && bytes.length < 60_000)
    .filter(({ path }) => path.endsWith('.jsonl'))
    .map(({ scenario, path }) => ({ name: `${agent.id} ${scenario}`, agent, path }));
});

/** The files of a recording's session folder. */
function filesBeside(path: string): { root: string; files: string[] } {
  let root = dirname(path);
  while (!root.endsWith('session')) root = dirname(root);
  const names = readdirSync(root, { recursive: true, encoding: 'utf8' }).sort();
  return { root, files: names.filter((name) => statSync(join(root, name)).isFile()) };
}

/** The lines of all files in the order in which the agent wrote them. Other files exist from the beginning. */
function writesOf({ session }: Agent, root: string, files: readonly string[]) {
  const writes: { name: string; bytes: Buffer; at_ms: number }[] = [];
  for (const name of files) {
    const text = readFileSync(join(root, name)).toString('latin1');
    let at_ms = 0;
    for (const line of name.endsWith('.jsonl') ? text.split(/(?<=\n)/) : [text]) {
      at_ms = Math.max(at_ms, session?.timeOf(jsonIn(line)) ?? 0);
      writes.push({ name, bytes: Buffer.from(line, 'latin1'), at_ms });
    }
  }
  return writes.sort((a, b) => a.at_ms - b.at_ms);
}

for (const { name: session, agent, path } of SESSIONS)
  verifies(
    'WA-3',
    `${session}: imported while it grows, it is one run with the same facts`,
    async () => {
      const folder = testFolder();
      const { root, files } = filesBeside(path);
      const whole = join(folder, 'whole');
      const growing = join(folder, 'growing');
      for (const name of files) {
        for (const place of [whole, growing])
          mkdirSync(dirname(join(place, name)), { recursive: true });
        copyFileSync(join(root, name), join(whole, name));
      }
      const main = relative(root, path);
      const once = await imported(agent, join(whole, main), join(folder, 'a'));
      const steps = new Set<string>();
      const writes = writesOf(agent, root, files);
      const step = Math.max(1, Math.floor(writes.length / 3));
      for (const [n, { name, bytes }] of writes.entries()) {
        appendFileSync(join(growing, name), bytes);
        if (n % step !== 0 && n < writes.length - 1) continue;
        if (!existsSync(join(growing, main))) continue;
        const row = await imported(agent, join(growing, main), join(folder, 'b'));
        if (row?.run_id != null) steps.add(row.run_id);
      }
      expect(steps.size).toBe(once?.run_id === null ? 0 : 1);
      const [grown] = steps;
      if (once?.run_id == null || grown === undefined) return;
      // The beginning of an id is a time, which for some agents is that of the file.
      expect(grown.slice(-16)).toBe(once.run_id.slice(-16));
      const [a, b] = [
        await eventsOf(join(folder, 'a'), once.run_id),
        await eventsOf(join(folder, 'b'), grown),
      ];
      expect(facts(b)).toEqual(facts(a));
      expect(b.map(({ seq }) => seq)).toEqual(b.map((_, n) => n + 1));
      const verified = await verifyRun(openStateDir(join(folder, 'b')), grown);
      expect(verified.faults).toEqual([]);
    },
    120_000,
  );

/** Every recording is read line by line in the tests of its agent: here are those with several files and special ends. */
const FOLLOWED = /subagent|parallel|bash-fail|interrupted|provider-retry|fork/;

for (const { name: session, agent, path } of SESSIONS.filter(({ name }) => FOLLOWED.test(name)))
  verifies(
    ['WA-3', 'WA-4'],
    `${session}: followed while it grows, in the middle of lines too, it is the same run`,
    async () => {
      const folder = testFolder();
      const { root, files } = filesBeside(path);
      const main = relative(root, path);
      const once = await imported(agent, path, join(folder, 'a'));
      const { take } = follower(join(folder, 'b'));
      const writes = writesOf(agent, root, files);
      const step = Math.max(1, Math.floor(writes.length / 4));
      let grown: string | null = null;
      for (const [n, { name, bytes }] of writes.entries()) {
        const file = join(folder, 'growing', name);
        mkdirSync(dirname(file), { recursive: true });
        const looks = n % step === 0 || n === writes.length - 1;
        const half = looks && name.endsWith('.jsonl') ? Math.floor(bytes.length / 2) : 0;
        for (const some of [bytes.subarray(0, half), bytes.subarray(half)]) {
          appendFileSync(file, some);
          if (!looks || !existsSync(join(folder, 'growing', main))) continue;
          const row = await take(agent, join(folder, 'growing', main));
          grown = row.run_id ?? grown;
          // A part of the first line is no session yet.
          if (grown === null) continue;
          expect(row.why).toBe(null);
          const verified = await verifyRun(openStateDir(join(folder, 'b')), grown);
          expect(verified.faults).toEqual([]);
        }
      }
      if (once?.run_id == null || grown === null) return;
      const [a, b] = [
        await eventsOf(join(folder, 'a'), once.run_id),
        await eventsOf(join(folder, 'b'), grown),
      ];
      expect(facts(b)).toEqual(facts(a));
      expect(b.map(({ seq }) => seq)).toEqual(b.map((_, n) => n + 1));
    },
    120_000,
  );

/** Not among the recordings above, which are named by the first file of their folder. */
const GEMINI = 'gemini/testdata/subagent/session/dot-gemini/tmp/project/chats';
const MAIN = 'session-2026-11-15T01-25-14a88fed.jsonl';

/** The main file up to the line that names the sub-agent's call, and all of the sub-agent's file. */
async function beforeTheCall(folder: string) {
  const agent = await findAgent('gemini');
  if (agent === undefined) throw new Error('the agent is missing');
  const path = join(AGENTS, GEMINI, MAIN);
  const { root, files } = filesBeside(path);
  for (const name of files) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    copyFileSync(join(root, name), join(folder, name));
  }
  const file = join(folder, relative(root, path));
  const lines = readFileSync(path, 'utf8').split(/(?<=\n)/);
  const named = lines.findIndex((line) => line.includes('"agentId"'));
  const grow = (from: number, to: number) =>
    writeFileSync(file, lines.slice(from, to).join(''), { flag: from === 0 ? 'w' : 'a' });
  grow(0, named);
  return { agent, path, file, grow, named, lines: lines.length };
}

function afterParts(agent: Agent, then: () => void): Agent {
  const { session } = agent;
  if (session === null) return agent;
  const parts: typeof session.parts = async (...query) => {
    const found = await session.parts(...query);
    then();
    return found;
  };
  return { ...agent, session: { ...session, parts } };
}

const parentsIn = (events: readonly Event[]) =>
  events.flatMap(({ kind, data }) =>
    kind === 'call_requested' && data.tool === 'Read' ? [data.parent_call_id] : [],
  );

verifies(
  ['WA-3', 'WA-4'],
  "a sub-agent's calls are recorded with their parent, even if it becomes known after them",
  async () => {
    const folder = testFolder();
    const { agent, path, file, grow, named, lines } = await beforeTheCall(join(folder, 'growing'));
    const once = await imported(agent, path, join(folder, 'a'));
    const wanted = facts(await eventsOf(join(folder, 'a'), String(once?.run_id)));
    const { take, growing } = follower(join(folder, 'b'));
    const by_hand = () => imported(agent, file, join(folder, 'c'));
    const steps = [
      [0, named - 2],
      [named - 2, named],
      [named, lines - 3],
      [lines - 3, lines],
    ] as const;
    let ids: unknown[] = [];
    for (const [from, to] of steps) {
      // The call is named right after the last look for it.
      const late = from === named ? afterParts(agent, () => grow(from, to)) : agent;
      if (late === agent) grow(from, to);
      ids = [(await take(late, file)).run_id, (await by_hand())?.run_id];
      if (to === named) {
        expect(growing.size).toBe(1);
        expect(parentsIn(await eventsOf(join(folder, 'b'), String(ids[0])))).toEqual([]);
        // Nothing is lost if the files do not change any more: it is part of the run's end.
        expect(parentsIn(await eventsOf(join(folder, 'c'), String(ids[1])))).toEqual([null]);
      }
    }
    for (const [n, state] of ['b', 'c'].entries()) {
      const events = await eventsOf(join(folder, state), String(ids[n]));
      expect(facts(events)).toEqual(wanted);
      const verified = await verifyRun(openStateDir(join(folder, state)), String(ids[n]));
      expect(verified.faults).toEqual([]);
    }
  },
);

verifies('WA-3', 'a sub-agent of a turn that has ended waits for no parent', async () => {
  const folder = testFolder();
  const { agent, file, grow, named } = await beforeTheCall(join(folder, 'growing'));
  const at = new Date(Date.now()).toISOString();
  grow(0, named);
  appendFileSync(
    file,
    `${JSON.stringify({ id: 'u2', timestamp: at, type: 'user', content: 'And now?' })}\n`,
  );
  const { take } = follower(join(folder, 'b'));
  const { run_id } = await take(agent, file);
  expect(parentsIn(await eventsOf(join(folder, 'b'), String(run_id)))).toEqual([null]);
  expect(await agent.session?.parts(file)).toHaveLength(2);
  expect((await agent.session?.parts(file))?.some(({ unclaimed }) => unclaimed)).toBe(false);
});

verifies(
  'WA-3',
  "what a sub-agent's file has beyond the main file, because both grow while they are read, waits for it",
  async () => {
    const found = SESSIONS.find(({ name }) => name === 'qwen subagent');
    if (!found?.agent.session) throw new Error('the recording is missing');
    const { agent, path } = found;
    const real = found.agent.session;
    const { root, files } = filesBeside(path);
    const [a, b, place] = [testFolder(), testFolder(), testFolder()];
    const rest = new Map<string, string>();
    for (const name of files) {
      const text = readFileSync(join(root, name), 'utf8');
      // The main file has the CLI's decision, the other one the result that follows from it.
      const end = text.search(/^.*("qwen-code.tool_call"|"type":"tool_result")/m);
      mkdirSync(dirname(join(place, name)), { recursive: true });
      writeFileSync(join(place, name), end < 0 ? text : text.slice(0, end));
      if (end >= 0) rest.set(join(place, name), text.slice(end));
    }
    const growing = (value: unknown) => {
      if (JSON.stringify(value).includes('"read_file"'))
        for (const [file, text] of rest) {
          appendFileSync(file, text);
          rest.delete(file);
        }
      return real.timeOf(value);
    };
    const file = join(place, relative(root, path));
    const session = { ...real, timeOf: growing };
    await imported({ ...agent, session }, file, b);
    expect(rest.size).toBe(0);
    const run = await imported(agent, file, b);
    const once = await imported(agent, path, a);
    const events = await eventsOf(b, String(run?.run_id));
    expect(facts(events)).toEqual(facts(await eventsOf(a, String(once?.run_id))));
    expect(events.filter(({ kind }) => kind === 'call_decided')).toHaveLength(2);
  },
);

const [TEXT] = SESSIONS.filter(({ name }) => name === 'claude bash-fail');

/** A session that is followed up to half of its lines, in a store that another command changes. */
async function halfFollowed() {
  if (TEXT === undefined) throw new Error('the recording is missing');
  const { agent, path } = TEXT;
  const lines = readFileSync(path, 'utf8').split(/(?<=\n)/);
  const file = join(testFolder(), `${path.slice(-40)}`);
  const state_dir = testFolder();
  const following = follower(state_dir);
  const half = Math.floor(lines.length / 2);
  const grow = (from: number, to: number) => appendFileSync(file, lines.slice(from, to).join(''));
  const state = openStateDir(state_dir);
  const change = () => lastChange(state);
  const before = change();
  for (const [from, to] of [
    [0, half - 1],
    [half - 1, half],
  ] as const) {
    grow(from, to);
    await following.take(agent, file);
  }
  expect(following.growing.size).toBe(1);
  const whole = (await imported(agent, path, testFolder()))?.run_id;
  return { ...following, agent, file, lines, half, grow, state_dir, state, change, before, whole };
}

verifies(
  ['WA-3', 'WA-4'],
  'another command that imports the session in between leaves a mark; then its events are not repeated',
  async () => {
    const { agent, file, lines, half, grow, state_dir, state, ...following } = await halfFollowed();
    grow(half, half + 2);
    const row = await imported(agent, file, state_dir);
    expect(row?.state).toBe('grown');
    expect(following.change()).not.toBe(following.before);
    // As the watcher does.
    following.growing.clear();
    following.journal.forget();
    grow(half + 2, lines.length);
    const last = await following.take(agent, file);
    expect(last).toMatchObject({ state: 'grown', run_id: row?.run_id, why: null });
    const events = await eventsOf(state_dir, String(last.run_id));
    const once = testFolder();
    const all = await eventsOf(once, String((await imported(agent, file, once))?.run_id));
    expect(facts(events)).toEqual(facts(all));
    expect((await verifyRun(state, String(last.run_id))).faults).toEqual([]);
  },
);

verifies('WA-4', 'a run that was removed in between does not grow in memory', async () => {
  const { agent, file, lines, half, grow, state, ...following } = await halfFollowed();
  const { run_id } = await following.take(agent, file);
  await removeRuns(state, [String(run_id)]);
  expect(following.change()).not.toBe(following.before);
  grow(half, lines.length);
  expect(await following.take(agent, file)).toMatchObject({ state: 'deleted', run_id: null });
});

verifies(
  'WA-4',
  'a session that grows is read from where it grew, and only that is journalled',
  async () => {
    const { agent, file, lines, take, growing } = await halfFollowed();
    // 20 MB of records that say little, so that only reading them again would be noticed.
    const last = lines.findLast((line) => line.includes('"type":"user"')) ?? '';
    const filler = `{"type":"summary","summary":"${'x'.repeat(1000)}"}\n`;
    appendFileSync(file, filler.repeat(20_000));
    await take(agent, file);
    await take(agent, file);
    expect(growing.size).toBe(1);
    const before = bytesRead();
    for (let n = 0; n < 10; n++) {
      appendFileSync(file, last.replaceAll('"uuid":"', `"uuid":"${n}`));
      expect(await take(agent, file)).toMatchObject({ why: null });
    }
    expect(growing.size).toBe(1);
    expect(bytesRead() - before).toBeLessThan(10_000_000);
  },
);

/** Bytes that this process has read. 0 where the system does not count them. */
function bytesRead(): number {
  if (!existsSync('/proc/self/io')) return 0;
  return Number(/rchar: (\d+)/.exec(readFileSync('/proc/self/io', 'utf8'))?.[1]);
}
