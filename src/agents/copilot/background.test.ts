import { describe, expect } from 'vitest';
import { verifies } from '../../../test/e2e/verifies.ts';
import { eventsOf, kindsOf, outcomeOf } from '../../../test/test-agent.ts';
import { copilot } from './index.ts';

type Fields = Record<string, unknown>;

const event = (type: string, data: Fields = {}, more: Fields = {}): Fields => ({
  type,
  data,
  timestamp: '2026-01-01T00:00:00.000Z',
  ...more,
});
const turn = (turnId = '0') => event('assistant.turn_start', { turnId, interactionId: 'i1' });
const turnEnd = (turnId = '0') => event('assistant.turn_end', { turnId });
const asks = (id: string, name: string, input: Fields = {}): Fields => ({
  toolCallId: id,
  name,
  arguments: input,
});
const said = (messageId: string, content: string, toolRequests: Fields[] = []) =>
  event('assistant.message', { messageId, content, toolRequests, model: 'm-1', turnId: '0' });
const done = (toolCallId: string, more: Fields = {}) =>
  event('tool.execution_complete', { toolCallId, success: true, ...more });
const result = (): Fields => ({
  type: 'result',
  timestamp: '2026-01-01T00:00:09.000Z',
  sessionId: 's',
  exitCode: 0,
});
const shutdown = () => event('session.shutdown', { shutdownType: 'routine', modelMetrics: {} });

const bytes = (records: unknown[]) =>
  Buffer.from(records.map((r) => `${JSON.stringify(r)}\n`).join(''));
const stdout = (...records: unknown[]) => eventsOf(copilot, 'stdout', [bytes(records)]);
const filed = (...records: unknown[]) => eventsOf(copilot, 'session', [bytes(records)]);
const statuses = (events: ReturnType<typeof stdout>) =>
  outcomeOf(events).tool_calls.map(({ id, status, exit_code }) => [id, status, exit_code]);
const ends = (events: ReturnType<typeof stdout>) => {
  const { exit_reason, terminal_evidence, message } = outcomeOf(events);
  return [exit_reason, terminal_evidence, message];
};

describe('background work', () => {
  const runs = (id: string, words: string, code: number | null = null) =>
    done(id, {
      result: { content: words },
      ...(code !== null && { shellExecution: { exitCode: code } }),
    });
  const notified = (kind: Fields) => event('system.notification', { content: 'n', kind });
  const STARTED = '<command started in background with shellId: s1>';
  const WAITED = 'out\n<command with shellId: s1 is still running after 30 seconds. Use …>';

  verifies('AG-9', "a late exit code in any record belongs to the command's call", () => {
    const later = (words: string, ...records: Fields[]) =>
      statuses(
        stdout(
          turn(),
          said('a', '', [asks('c1', 'bash', { command: 'x' })]),
          runs('c1', words),
          said('b', '', [asks('c2', 'read_bash', { shellId: 's1' })]),
          said('c', '', [asks('c3', 'stop_bash', { shellId: 's1' })]),
          ...records,
          result(),
        ),
      );
    const ended = (shellId: string, exitCode?: number) =>
      notified({ type: 'shell_completed', shellId, exitCode });
    const rest = [runs('c2', 'r'), done('c3', { success: false, error: { code: 'failure' } })];
    const own = [
      ['c2', 'ok', null],
      ['c3', 'error', null],
    ];
    expect([
      later(STARTED, runs('c2', 'r', 6), rest[1] as Fields),
      later(WAITED, runs('c2', 'r', 0), rest[1] as Fields),
      later(STARTED, ended('s1', 6), ...rest),
      later(STARTED, ended('s2', 6), ended('s1'), ...rest),
      later('<shellId: s1 completed with exit code 5>', runs('c2', 'r', 5), rest[1] as Fields),
      later(STARTED, runs('c2', 'r'), done('c3'), ended('s1', 6)),
    ]).toEqual([
      [['c1', 'error', 6], ...own],
      [['c1', 'ok', 0], ...own],
      [['c1', 'error', 6], ...own],
      [['c1', 'ok', null], ...own],
      [['c1', 'ok', null], ...own],
      [
        ['c1', 'cancelled', null],
        ['c2', 'ok', null],
        ['c3', 'ok', null],
      ],
    ]);
  });

  verifies('AG-9', 'a sub-agent that fails after its call was answered makes it an error', () => {
    const failed = event('subagent.failed', { toolCallId: 'c1', error: '400' }, { agentId: 'a1' });
    const events = stdout(
      turn(),
      said('a', '', [asks('c1', 'task', { prompt: 'p' })]),
      done('c1'),
      failed,
      result(),
    );
    expect(statuses(events)).toEqual([['c1', 'error', null]]);
    expect(kindsOf(events, 'notice').map(({ data }) => data)).toEqual([
      { code: 'subagent.failed', text: '400' },
    ]);
  });

  verifies('AG-11', 'an abort with nothing to abort does not undo the end', () => {
    const abort = (reason: string) => event('abort', { reason });
    const asked = said('a', 'go', [asks('c1', 'bash')]);
    const ending = (...records: Fields[]) => ends(filed(turn(), ...records, shutdown()));
    expect([
      ending(said('a', 'all'), turnEnd(), abort('user_initiated')),
      ending(said('a', 'all'), turnEnd(), abort('user_abort')),
      ending(asked, turnEnd(), abort('user_initiated')),
      ending(asked, done('c1'), turnEnd(), abort('user_initiated')),
      ending(said('a', 'all'), turnEnd(), turn('1'), turnEnd('1'), abort('user_initiated')),
    ]).toEqual([
      ['ok', 'native_result', 'all'],
      ['cancelled', 'native_result', 'all'],
      ['cancelled', 'native_result', 'go'],
      ['cancelled', 'native_result', 'go'],
      ['cancelled', 'native_result', 'all'],
    ]);
  });
});
