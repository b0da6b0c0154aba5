/** Provisional ends of runs, some of them cut by a kill. */
import { expect } from 'vitest';
import { createMaker } from '../../../test/build-events.ts';
import { verifies } from '../../../test/e2e/verifies.ts';
import { CAPTURE_SOURCE, CLOSING_SOURCE } from '../../model/words.ts';
import { endsOf, runEntries } from './run-entries.ts';

const RUN_ID = 'r_00000000000000000000000000';
const make = createMaker();
const event = (seq: number, kind: 'problem' | 'run_finished') =>
  JSON.stringify(make(kind, {}, { seq, run_id: RUN_ID }));

/** Entries in the order of the journal: `c` a record of the capture, `p` and `e` a problem and the end of a closing. */
function entriesOf(text: string) {
  let [captured, closed, number] = [0, 0, 0];
  return [...text].map((letter) => {
    if (letter === 'c') {
      captured += 1;
      number = captured;
      return { source: CAPTURE_SOURCE, seq: captured, body: event(captured, 'problem') };
    }
    closed += 1;
    number = Math.max(number, captured) + 1;
    const kind = letter === 'e' ? 'run_finished' : 'problem';
    return { source: CLOSING_SOURCE, seq: closed, body: event(number, kind) };
  });
}

async function* stream<T>(items: readonly T[]) {
  yield* items;
}

verifies(
  ['WA-15', 'ST-3'],
  'a part of an end that was cut by a kill is not continued by the end of the run that grew',
  async () => {
    for (const [text, ends] of [
      ['ccpe', [2]],
      ['ccpece', [2, 3]],
      ['ccpce', [3]],
      ['ccpccpe', [4]],
      ['ccppce', [3]],
      ['ccpepcpe', [2, 3]],
    ] as const) {
      const entries = entriesOf(text);
      const found = await endsOf(stream(entries));
      expect([...found.after.keys()], text).toEqual(ends);
      const all = await Array.fromAsync(runEntries(stream(entries)));
      const numbers = all.map(({ body }) => JSON.parse(body).seq as number);
      expect(numbers, text).toEqual(numbers.map((_, n) => n + 1));
    }
  },
);
