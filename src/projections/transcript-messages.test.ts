/** The memory of open messages is bounded, and no text is lost. */
import { expect, test } from 'vitest';
import { createMaker } from '../../test/build-events.ts';
import { PROJECTION_LIMITS } from './limits.ts';
import { MessageFold, type MessageHead } from './transcript-messages.ts';

const charsOf = ({ content, thinking }: MessageHead) => content.length + (thinking?.length ?? 0);

function watched() {
  const heads: MessageHead[] = [];
  let chars = 0;
  const fold = new MessageFold((head, place) => {
    heads[place] = head;
    chars += charsOf(head);
  });
  return { fold, heads, chars: () => chars, closed: () => heads.filter(Boolean).length };
}

test('sub-agents that never end are closed, the one with the longest silence first', () => {
  const make = createMaker();
  const { fold, heads, closed } = watched();
  const says = (parent: string, text: string) =>
    fold.push(
      make('message_finished', { message_id: `${parent}-${text}`, parent_call_id: parent, text }),
    );
  for (let sub = 0; sub < 5_000; sub++) {
    says(`sub${sub}`, 'x');
    says('busy', 'y'.repeat(1 + (sub % 7)));
  }
  const begun = fold.count;
  expect(begun - closed()).toBeLessThanOrEqual(PROJECTION_LIMITS.open_speakers_max);
  says('busy', 'z');
  // It was never closed: its next text is another message, and the previous one ends.
  expect(heads.at(begun - 1)?.parent_tool_call_id).toBe('busy');
  fold.finish();
  expect(closed()).toBe(fold.count);
  expect(heads.filter(({ content }) => content === 'x')).toHaveLength(5_000);
});

test('the total text of all open sub-agents is bounded', () => {
  const make = createMaker();
  const { fold, chars } = watched();
  const text = 'x'.repeat(1024 * 1024);
  for (let sub = 0; sub < 200; sub++) {
    fold.push(make('message_delta', { parent_call_id: `sub${sub}`, text }));
    fold.push(make('thinking_delta', { parent_call_id: `sub${sub}`, text }));
    const said = (sub + 1) * 2 * text.length;
    expect(said - chars()).toBeLessThanOrEqual(PROJECTION_LIMITS.open_speakers_chars_max);
  }
  fold.finish();
  expect(chars()).toBe(400 * text.length);
});

test.each(['message_delta', 'message_finished', 'thinking_delta', 'thinking_finished'] as const)(
  'a message without an end continues in the next one: %s',
  (kind) => {
    const make = createMaker();
    const { fold, heads, chars } = watched();
    const text = 'x'.repeat(1024 * 1024);
    for (let piece = 0; piece < 40; piece++) fold.push(make(kind, { message_id: 'm1', text }));
    fold.finish();
    const most = PROJECTION_LIMITS.transcript_message_chars_max + text.length + 40;
    expect(heads.length).toBeGreaterThan(3);
    expect(Math.max(...heads.map(charsOf))).toBeLessThanOrEqual(most);
    expect(chars()).toBeGreaterThanOrEqual(40 * text.length);
  },
);

test('the complete text replaces its pieces, however long they were', () => {
  const make = createMaker();
  const { fold, heads } = watched();
  const text = 'x'.repeat(PROJECTION_LIMITS.transcript_message_chars_max);
  fold.push(make('message_delta', { text }));
  fold.push(make('message_finished', { text }));
  fold.finish();
  expect(heads.map(({ content }) => content.length)).toEqual([text.length]);
});
