import { expect } from 'vitest';
import { verifies } from '../../../test/e2e/verifies.ts';
import { eventsOf, kindsOf } from '../../../test/test-agent.ts';
import { claude } from './index.ts';
import { Talk } from './input.ts';

type Fields = Record<string, unknown>;

const ID = '11111111-2222-4333-8444-555555555555';
const INIT = { type: 'system', subtype: 'init', session_id: ID, model: 'claude-x', tools: [] };
const ENDED = { type: 'result', subtype: 'success', is_error: false, result: 'x', session_id: ID };
const timed = (second: number) => `2026-01-01T00:00:0${second}.000Z`;
const user = (content: Fields, more: Fields): Fields => ({
  type: 'user',
  message: { role: 'user', content: [content] },
  parent_tool_use_id: null,
  ...more,
});
const repeated = (text: string, uuid: string): Fields =>
  user({ type: 'text', text }, { uuid, timestamp: timed(1), isReplay: true });
const said = (id: string, block: Fields, timestamp = timed(2)): Fields => ({
  type: 'assistant',
  message: { id, role: 'assistant', model: 'claude-x', content: [block] },
  parent_tool_use_id: null,
  timestamp,
});
const text = (words: string): Fields => ({ type: 'text', text: words });
const eventsFrom = (...records: Fields[]) =>
  eventsOf(claude, 'stdout', [
    Buffer.from(records.map((record) => `${JSON.stringify(record)}\n`).join('')),
  ]);

verifies('LP-14', 'with --accept-input the prompt is the first of several records', () => {
  const prompt = 'Say "hi" $HOME\n🚀';
  const rest = { model: null, approve: 'default', resume: null, stream: false } as const;
  const self = { node: 'node', entry: 'entry' };
  const request = { prompt, ...rest, args: ['--last'], command: null, self };
  const { args, stdin } = claude.launch({ ...request, accept_input: true });
  expect(args).toEqual([
    ...['-p', '--output-format', 'stream-json', '--verbose'],
    ...['--input-format', 'stream-json', '--replay-user-messages', '--last'],
  ]);
  const message = { role: 'user', content: [{ type: 'text', text: prompt }] };
  expect(stdin).toBe(`${JSON.stringify({ type: 'user', message })}\n`);
});

verifies('LP-14', 'a text and an interrupt are one record each on stdin', () => {
  const talk = new Talk();
  const lines = [talk.say('Say "hi"\n🚀', ID), talk.interrupt(), talk.interrupt()];
  const message = { role: 'user', content: [{ type: 'text', text: 'Say "hi"\n🚀' }] };
  const interrupt = (request_id: string) => ({
    type: 'control_request',
    request_id,
    request: { subtype: 'interrupt' },
  });
  expect(lines).toEqual(
    [{ type: 'user', message, uuid: ID }, interrupt('interrupt-1'), interrupt('interrupt-2')].map(
      (record) => `${JSON.stringify(record)}\n`,
    ),
  );
});

verifies('LP-14', 'after a result nothing is pending once all texts were repeated', () => {
  const talk = new Talk();
  talk.say('second', 'u2');
  talk.say('third', 'u3');
  const events = eventsFrom(
    INIT,
    repeated('first', 'u1'),
    said('m1', text('One.')),
    ENDED,
    repeated('second', 'u2'),
    repeated('third', 'u3'),
    said('m2', text('Two.')),
    ENDED,
  );
  const states = events
    .filter(({ kind }) => kind === 'agent_ended' || kind === 'message_finished')
    .map((event) => {
      talk.event(event);
      return [event.kind, talk.resting, talk.waiting];
    });
  const both = ['second', 'third'];
  expect(states).toEqual([
    ['message_finished', false, both],
    ['message_finished', false, both],
    ['agent_ended', true, both],
    ['message_finished', false, ['third']],
    ['message_finished', false, []],
    ['message_finished', false, []],
    ['agent_ended', true, []],
  ]);
});

verifies('LP-14', 'a repeated text has the time when it was accepted, not when it was sent', () => {
  const call = { type: 'tool_use', id: 't1', name: 'Bash', input: { command: 'x' } };
  const result = { type: 'tool_result', tool_use_id: 't1', content: 'x' };
  const events = eventsFrom(
    INIT,
    said('m1', call),
    user(result, { timestamp: timed(3) }),
    repeated('more', 'u2'),
    said('m2', text('Done.'), timed(4)),
    ENDED,
  );
  const messages = kindsOf(events, 'message_finished').map(({ at_source, data }) => [
    data.role,
    data.text,
    at_source,
  ]);
  expect(messages).toEqual([
    ['user', 'more', 'observed'],
    ['assistant', 'Done.', 'native'],
  ]);
});
