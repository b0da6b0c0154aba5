/** Sending what is followed to a collector that is away, refuses a token, or refuses a session. */
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished } from 'vitest';
import { verifies } from '../../../test/e2e/verifies.ts';
import { testFolder } from '../../../test/fixtures/folder.ts';
import { type Message, ToyCollector } from '../../../test/toy-collector.ts';
import { useLimits } from '../../../test/use-limits.ts';
import { findAgent } from '../../agents/registry.ts';
import { openIndex } from '../../store/index/index-db.ts';
import { openStateDir } from '../../store/state-dir.ts';
import { APP_LIMITS } from '../limits.ts';
import { importSessions } from '../sessions/import.ts';
import { WatchLive } from './watch-live.ts';

const ID = '7e15eb39-6be6-4422-a6f5-9c0868fe7f65';
const RECORDED = join(
  import.meta.dirname,
  `../../agents/claude/testdata/bash-ok/session/.claude/projects/-home-user-project/${ID}.jsonl`,
);

/** A store whose sessions are sent to the address. */
function store(url: string, token_file: string | null = null) {
  const folder = testFolder();
  const state_dir = join(folder, 'state');
  const state = openStateDir(state_dir);
  const index = openIndex(state);
  onTestFinished(() => index.close());
  const said: string[] = [];
  const ids: string[] = [];
  const to = { url, token_file, ca: null, call_timeout_ms: null, trace: null };
  const open = () => {
    const live = new WatchLive(to, { state, index, say: (text) => said.push(text) });
    let closed = false;
    const close = async () => {
      if (!closed) await live.close();
      closed = true;
    };
    onTestFinished(close);
    return { live, close };
  };
  /** Imports another session. Returns its run. */
  const add = async (name: string) => {
    const id = ID.replace(/^.{8}/, name);
    mkdirSync(join(folder, name));
    const path = join(folder, name, `${id}.jsonl`);
    const text = readFileSync(RECORDED, 'utf8')
      .replaceAll(ID, id)
      .replaceAll('"uuid":"', `"uuid":"${name}`);
    // Another conversation, not a fork.
    writeFileSync(path, text.replaceAll('T01:15', `T0${ids.push(id)}:15`));
    // Nobody continues it.
    utimesSync(path, 0, 0);
    const agent = await findAgent('claude');
    if (agent === undefined) throw new Error('no agent');
    const targets = [{ agent, path, by_name: false }];
    const [row] = await Array.fromAsync(
      importSessions(targets, { state_dir, env: {}, redact: [] }),
    );
    return row?.run_id ?? '';
  };
  const outbox = () => {
    const path = join(state_dir, 'outbox');
    const names = existsSync(path) ? readdirSync(path) : [];
    return names.filter((name) => /\.(jsonl|refused)$/.test(name));
  };
  const bytes = () =>
    outbox().reduce((sum, name) => sum + statSync(join(state_dir, 'outbox', name)).size, 0);
  return { open, add, outbox, bytes, said };
}

/** Calls `tick` as the watcher does, until it holds. */
async function ticking(live: WatchLive, holds: () => boolean): Promise<void> {
  for (let tries = 0; tries < 400 && !holds(); tries++) {
    await live.tick(new Map());
    await sleep(25);
  }
  expect(holds()).toBe(true);
}

const ended = (collector: ToyCollector, ids: readonly string[]) => () =>
  ids.every((id) => collector.messages(id).at(-1)?.type === 'session_end');
const numbers = (messages: readonly Message[]) => messages.map(({ seq }) => seq);

verifies(
  'WA-14',
  'while the collector is away, the outbox is bounded, and the rest is sent from the journal later',
  async () => {
    useLimits(APP_LIMITS, { watch_live_waiting_bytes_max: 6_000, live_deliver_ms: 10 });
    const socket = join(testFolder(), 'c.sock');
    const { open, add, outbox, bytes, said } = store(`unix:${socket}`);
    const first = open();
    const ids = await Promise.all([add('aaaaaaaa'), add('bbbbbbbb'), add('cccccccc')]);
    for (const id of ids) first.live.changed(id, true);
    await first.live.send();
    expect(first.live.status()).toMatchObject({ connected: false, behind: 2 });
    const waiting = bytes();
    await first.live.send();
    expect(bytes()).toBe(waiting);
    await first.close();
    expect(said).toHaveLength(2);
    // The next watcher finds the open session, and those that were never sent: they have no session yet.
    const second = open();
    for (const id of ids) second.live.changed(id, true);
    const collector = new ToyCollector();
    await collector.listen(socket);
    await ticking(second.live, ended(collector, ids));
    for (const id of ids) {
      const messages = collector.messages(id);
      expect(numbers(messages)).toEqual(messages.map((_, n) => n + 1));
    }
    await ticking(second.live, () => outbox().length === 0);
    expect(second.live.status()).toMatchObject({ open: 0, behind: 0, waiting_messages: 0 });
    // Nothing is sent twice.
    const sent = collector.came.length;
    for (const id of ids) second.live.changed(id, true);
    await second.live.tick(new Map());
    await sleep(100);
    expect(collector.came.length).toBe(sent);
  },
);

verifies('WA-14', 'a token that is corrected later is used', async () => {
  useLimits(APP_LIMITS, { watch_live_again_ms: 50 });
  const socket = join(testFolder(), 'c.sock');
  const collector = new ToyCollector();
  collector.behaviour.token = 'right';
  await collector.listen(socket);
  const file = join(testFolder(), 'token');
  writeFileSync(file, 'wrong', { mode: 0o600 });
  const { open, add, said } = store(`unix:${socket}`, file);
  const { live } = open();
  const run_id = await add('aaaaaaaa');
  live.changed(run_id, true);
  await ticking(live, () => live.status().last_failure !== null);
  expect(said.join()).toContain('wrong token');
  expect(collector.stored.size).toBe(0);
  writeFileSync(file, 'right', { mode: 0o600 });
  await ticking(live, ended(collector, [run_id]));
  expect(live.status().last_failure).toBeNull();
});

verifies(
  'WA-14',
  'a session that the collector refuses is set aside, and does not stop others',
  async () => {
    const socket = join(testFolder(), 'c.sock');
    const collector = new ToyCollector();
    await collector.listen(socket);
    const { open, add, outbox } = store(`unix:${socket}`);
    const { live } = open();
    const [bad, good] = [await add('aaaaaaaa'), await add('bbbbbbbb')];
    collector.behaviour.onMessage = ({ session_id, seq, message_id }, say) => {
      if (session_id !== bad) return false;
      const caused_by = { correlation_id: null, message_id, seq };
      const fault = { message: 'no', severity: 'error', retriable: false, caused_by };
      say('error', { error_code: 'SESSION_LIMIT', ...fault }, { session_id });
      return true;
    };
    for (const id of [bad, good]) live.changed(id, true);
    await ticking(live, () => ended(collector, [good])() && live.status().refused === 1);
    await ticking(live, () => outbox().join().endsWith('.refused'));
    expect(live.status()).toMatchObject({
      open: 0,
      refused: 1,
      last_failure: expect.stringContaining('no'),
    });
  },
);
