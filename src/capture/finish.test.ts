import { expect, test } from 'vitest';
import { createMaker } from '../../test/build-events.ts';
import { verifies } from '../../test/e2e/verifies.ts';
import { outcomeOf } from '../../test/test-agent.ts';
import { demo } from '../agents/demo/index.ts';
import type { DataOf, Event } from '../model/event.ts';
import { QUIET_ENDING, runFinished } from './finish.ts';
import { applyEvent, RunState } from './run-state.ts';

type Said = Partial<DataOf<'message_finished'>>;

/** The final output of a run with these messages; `null` begins a step. */
function lastWords(messages: readonly (Said | null)[]): { recorded: string; cut_off: string } {
  const make = createMaker();
  const events: Event[] = [make('run_started')];
  for (const said of messages) {
    events.push(said === null ? make('step_started') : make('message_finished', said));
  }
  const state = new RunState();
  for (const event of events) applyEvent(state, event, 'stdout');
  const data = runFinished(state, demo, QUIET_ENDING);
  const { message } = outcomeOf([...events, make('run_finished', data)]);
  expect(message).toBe(data.final_output);
  return { recorded: message, cut_off: outcomeOf(events).message };
}

const both = (text: string) => ({ recorded: text, cut_off: text });
const said = (text: string, more: Said = {}): Said => ({ message_id: 'm2', text, ...more });
const before = said('Before.', { message_id: 'm1' });

verifies('RO-4', 'the parts of the last message are joined by newlines and trimmed', () => {
  const parts = [said('\n  One '), said(' \n\t'), said(''), said(' two.\n\n')];
  expect(lastWords([null, before, ...parts])).toEqual(both('One \n two.'));
  expect(lastWords([null, before, null, ...parts])).toEqual(both('One \n two.'));
  expect(lastWords([null, said(' \n')])).toEqual(both(''));
});

verifies('RO-4', 'only the last assistant message is the final output', () => {
  const others = [
    said('A user.', { role: 'user', message_id: 'm3' }),
    said('A summary.', { synthetic: true, message_id: 'm4' }),
    said('A sub-agent.', { parent_call_id: 'c1', message_id: 'm5' }),
  ];
  expect(lastWords([null, before, null, said('Last.'), ...others])).toEqual(both('Last.'));
  // In a step without text, its message is still the last one.
  expect(lastWords([null, before, null, ...others])).toEqual(both(''));
});

test('the duration of a run does not depend on a clock that can be set', () => {
  const make = createMaker();
  const state = new RunState();
  applyEvent(state, make('run_started', {}, { at_ms: 1_000 }), 'stdout');
  applyEvent(state, make('notice', {}, { at_ms: 3_601_000 }), 'stdout');
  const tookFor = (elapsed_ms: number | null) =>
    runFinished(state, demo, { ...QUIET_ENDING, elapsed_ms }).duration_ms;
  expect([tookFor(2_400.4), tookFor(null)]).toEqual([2_400, 3_600_000]);
});
