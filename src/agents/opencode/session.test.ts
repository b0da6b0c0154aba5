import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { verifies } from '../../../test/e2e/verifies.ts';
import {
  eventsOf,
  kindsOf,
  outcomeOf,
  type Recording,
  wholeRun,
} from '../../../test/test-agent.ts';
import type { Draft } from '../../model/draft.ts';
import type { Event } from '../../model/event.ts';
import { opencode } from './index.ts';

type Fields = Record<string, unknown>;

const SES = 'ses_e232ea426ffetHR1FGCly8FsMH';
const T0 = 1_794_706_000_000;
const time = { start: T0, end: T0 + 5 };

const lines = (...records: unknown[]) =>
  Buffer.from(records.map((record) => `${JSON.stringify(record)}\n`).join(''));
const stdout = (...records: unknown[]) => eventsOf(opencode, 'stdout', [lines(...records)]);
const problems = (events: readonly Event[]) =>
  kindsOf(events, 'problem').map(({ data }) => `${data.code} ${data.detail}`);
const bus = (type: string, properties: Fields): Fields => ({ type, properties });
const assistant = (id: string, more: Fields = {}, session_id = SES): Fields =>
  bus('message.updated', {
    info: {
      id,
      sessionID: session_id,
      role: 'assistant',
      modelID: 'claude-sonnet',
      providerID: 'anthropic',
      time: { created: T0 },
      ...more,
    },
  });
const part = (id: string, message_id: string, fields: Fields, session_id = SES): Fields =>
  bus('message.part.updated', {
    part: { id, sessionID: session_id, messageID: message_id, ...fields },
  });

describe('sessions', () => {
  const CHILD = 'ses_e231ea426ffetHR1FGCly8FsMH';
  const message = (id: string, more: Fields = {}): Fields => ({
    id,
    sessionID: SES,
    role: 'assistant',
    modelID: 'm',
    providerID: 'p',
    finish: 'stop',
    cost: 1,
    tokens: { input: 1, output: 2, reasoning: 3, cache: { read: 4, write: 5 } },
    time: { created: T0, completed: T0 + 9 },
    ...more,
  });
  const task = {
    type: 'tool',
    tool: 'task',
    callID: 'call_task',
    state: {
      status: 'completed',
      input: { description: 'd', prompt: 'look', subagent_type: 'general' },
      output: '<task_result>found</task_result>',
      metadata: { parentSessionId: SES, sessionId: CHILD },
      time,
    },
  };
  const read = {
    type: 'tool',
    tool: 'read',
    callID: 'call_read',
    state: { status: 'completed', input: { filePath: '/p/a' }, output: 'x', time },
  };
  const root = {
    info: { id: SES, directory: '/p', version: '1.18.33', time: { created: T0 } },
    messages: [
      {
        info: message('msg_1'),
        parts: [
          { id: 'prt_1', sessionID: SES, messageID: 'msg_1', type: 'step-start' },
          { id: 'prt_2', sessionID: SES, messageID: 'msg_1', ...task },
          { id: 'prt_3', sessionID: SES, messageID: 'msg_1', type: 'text', text: 'Done.', time },
        ],
      },
    ],
  };
  const child = {
    info: { id: CHILD, parentID: SES, directory: '/p', time: { created: T0 + 1 } },
    messages: [
      {
        info: message('msg_2', { sessionID: CHILD }),
        parts: [
          { id: 'prt_4', sessionID: CHILD, messageID: 'msg_2', type: 'step-start' },
          { id: 'prt_5', sessionID: CHILD, messageID: 'msg_2', ...read },
          { id: 'prt_6', sessionID: CHILD, messageID: 'msg_2', type: 'text', text: 'found', time },
        ],
      },
    ],
  };
  const facts = (events: readonly Event[]) => {
    const { tool_calls, message: words, metrics } = outcomeOf(events);
    const parents = tool_calls.map(({ id, parent_id }) => [id, parent_id]);
    return { parents, words, steps: metrics.steps, cost: metrics.cost };
  };
  const RIGHT = {
    parents: [
      ['call_task', null],
      ['call_read', 'call_task'],
    ],
    words: 'Done.',
    steps: 1,
    cost: 1,
  };

  verifies(['AG-12', 'AG-15'], "a sub-agent's export beside its parent's is attached", async () => {
    const folder = await mkdtemp(join(tmpdir(), 'tacho-opencode-test-'));
    try {
      const pathOf = (id: string) => join(folder, `export-${id}.json`);
      await writeFile(pathOf(SES), JSON.stringify(root, null, 2));
      await writeFile(pathOf(CHILD), JSON.stringify(child, null, 2));
      await writeFile(pathOf('ses_other'), JSON.stringify({ info: { id: 'ses_other' } }, null, 2));
      const parts = await opencode.session?.parts(pathOf(CHILD));
      expect(parts?.map(({ path }) => path)).toEqual([pathOf(SES), pathOf(CHILD)]);
      const path = pathOf(SES);
      const recording: Recording = {
        scenario: 'x',
        channel: 'session',
        path,
        bytes: readFileSync(path),
        truth: null,
      };
      const events = await wholeRun(opencode, recording);
      expect(problems(events)).toEqual([]);
      expect(facts(events)).toEqual(RIGHT);
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  verifies(
    ['AG-3', 'AG-12'],
    'rows beside an export add its sub-agents and nothing else',
    async () => {
      const folder = await mkdtemp(join(tmpdir(), 'tacho-opencode-test-'));
      try {
        const path = join(folder, `export-${SES}.json`);
        await writeFile(path, JSON.stringify(root, null, 2));
        const other = {
          info: { ...child.info, id: 'ses_other', parentID: null },
          messages: child.messages.map(({ info, parts }) => ({
            info: { ...info, id: 'msg_9', sessionID: 'ses_other' },
            parts: parts.map((one) => ({ ...one, id: `${one.id}9`, messageID: 'msg_9' })),
          })),
        };
        const all = [root, child, other];
        const row = { time_created: T0 };
        const sessions = all.map(({ info }) => ({
          ...row,
          id: info.id,
          parent_id: 'parentID' in info ? info.parentID : null,
          directory: '/p',
        }));
        const messages = all.flatMap(({ info, messages: some }) =>
          some.map(({ info: data }) => ({ ...row, id: data.id, session_id: info.id, data })),
        );
        const parts = all.flatMap(({ info, messages: some }) =>
          some.flatMap((one) =>
            one.parts.map(({ id, messageID, ...data }) => {
              return { ...row, id, message_id: messageID, session_id: info.id, data };
            }),
          ),
        );
        await writeFile(join(folder, 'db-session.jsonl'), lines(...sessions));
        await writeFile(join(folder, 'db-message.jsonl'), lines(...messages));
        await writeFile(join(folder, 'db-part.jsonl'), lines(...parts));
        const bytes = readFileSync(path);
        const recording: Recording = {
          scenario: 'x',
          channel: 'session',
          path,
          bytes,
          truth: null,
        };
        const events = await wholeRun(opencode, recording);
        expect(problems(events)).toEqual([]);
        expect(facts(events)).toEqual(RIGHT);
      } finally {
        await rm(folder, { recursive: true });
      }
    },
  );

  verifies('AG-12', "a sub-agent's events on the bus are attached, named or not", () => {
    const running = { ...task.state, status: 'running' };
    const created = (info: Fields) => bus('session.created', { info });
    for (const state of [running, { ...running, metadata: undefined }]) {
      const events = stdout(
        created(root.info),
        assistant('msg_1'),
        part('prt_1', 'msg_1', { type: 'step-start' }),
        part('prt_2', 'msg_1', { ...task, state }),
        created(child.info),
        assistant('msg_2', {}, CHILD),
        part('prt_4', 'msg_2', { type: 'step-start' }, CHILD),
        part('prt_5', 'msg_2', read, CHILD),
        part('prt_6', 'msg_2', { type: 'text', text: 'found', time }, CHILD),
        bus('message.updated', { info: message('msg_2', { sessionID: CHILD }) }),
        bus('session.idle', { sessionID: CHILD }),
        part('prt_2', 'msg_1', task),
        part('prt_3', 'msg_1', { type: 'text', text: 'Done.', time }),
        bus('message.updated', { info: message('msg_1') }),
        bus('session.idle', { sessionID: SES }),
      );
      expect(problems(events)).toEqual([]);
      expect(facts(events)).toEqual(RIGHT);
      expect(kindsOf(events, 'agent_ended').length).toBe(1);
    }
  });

  verifies('AG-10', 'earlier runs of a resumed session are not counted', () => {
    const old = { ...message('msg_0'), time: { created: T0 - 900, completed: T0 - 800 } };
    const text = { id: 'prt_0', sessionID: SES, messageID: 'msg_0', type: 'text', text: 'before' };
    const before = { info: old, parts: [{ ...text, time: { start: T0 - 850, end: T0 - 840 } }] };
    const document = { ...root, messages: [before, ...root.messages] };
    const drafts: Draft[] = [];
    const decoder = opencode.session?.decoder({ since_ms: T0 });
    decoder?.record(document, drafts);
    decoder?.end(drafts);
    const usage = drafts.filter(({ kind }) => kind === 'usage_reported');
    const own = {
      usage: { input: 1, output: 2, reasoning: 3, cache_read: 4, cache_write: 5 },
      cost_usd: 1,
      model: 'p/m',
    };
    expect(usage.map(({ data }) => data)).toEqual([
      { mode: 'add', ...own },
      { mode: 'total', ...own },
    ]);
    const texts = drafts.filter(({ kind }) => kind === 'message_finished');
    expect(texts.map(({ data }) => (data as { text: string }).text)).toEqual(['Done.']);
  });
});
