/** CPU to align two runs of 10,000 calls, in ordinary and in bad cases, compared with parsing their events. */
import type { Event } from '../src/model/event.ts';
import { createRunFacts } from '../src/projections/compare/call-facts.ts';
import { compare } from '../src/projections/compare/compare.ts';
import { createMaker } from '../test/build-events.ts';
import type { Row } from './measure.ts';

const CALLS = 10_000;
const SECONDS_MAX = 2;

type InputOf = (at: number) => object;

/** A call with a short output for each input. */
function eventsOf(calls: number, inputOf: InputOf): Event[] {
  const event = createMaker();
  const list: Event[] = [event('run_started', {})];
  for (let at = 0; at < calls; at++) {
    const call = { call_id: `c${at}`, tool: 'Bash' };
    list.push(
      event('call_requested', { ...call, native_call_id: call.call_id, input: inputOf(at) }),
    );
    list.push(event('call_finished', { ...call, output: `line ${at} of the output` }));
  }
  list.push(event('run_finished', {}));
  return list;
}

const command = (text: string) => ({ command: text });
const words = (at: number, seed: number) =>
  Array.from({ length: 12 }, (_, i) => `w${(at * 31 + i * 7 + seed) % 50_021}`).join(' ');
const normal = (at: number) => command(`npm test -- src/part-${at % 700}/file-${at}.ts`);
const huge = 'some text of a large file, again and again. '.repeat(364);

const CASES: readonly (readonly [string, InputOf, InputOf, number?])[] = [
  [
    'every tenth call changed, every hundredth inserted',
    normal,
    (at) =>
      at % 100 === 0
        ? command(`git log ${at}`)
        : at % 10 === 0
          ? command(`npm test -- src/part-${at % 700}/file-${at}.ts --bail`)
          : normal(at),
  ],
  ['all calls equal', () => command('npm test'), () => command('npm test')],
  ['nothing equal', (at) => command(words(at, 0)), (at) => command(words(at, 25_000))],
  [
    'all similar, none equal',
    (at) => command(`make all part ${at}`),
    (at) => command(`make all part x${at}`),
  ],
  [
    'two calls in turns, one shifted',
    (at) => command(`ls ${at % 2}`),
    (at) => command(`ls ${(at + 1) % 3}`),
  ],
  ['in reverse', normal, (at) => normal(CALLS - at)],
  [
    'inputs of 16 kB',
    (at) => command(`${at} ${huge}`),
    (at) => command(`${at % 10 === 0 ? 'x' : ''}${at} ${huge}`),
  ],
  ['10,000 with 10 calls', normal, normal, 10],
];

/** CPU, so that a busy machine changes little. */
const seconds = (work: () => void) => {
  const start = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(start);
  return (user + system) / 1e6;
};

export function run(): Row[] {
  return CASES.map(([name, a, b, count = CALLS]) => {
    const texts = [eventsOf(CALLS, a), eventsOf(count, b)].map((events) =>
      events.map((event) => JSON.stringify(event)),
    );
    // As a journal gives them: parsed.
    const runs = texts.map((lines) => lines.map((line) => JSON.parse(line) as Event));
    const took = seconds(() => {
      compare(
        runs.map((events) => {
          const facts = createRunFacts();
          for (const event of events) facts.push(event);
          return facts.finish();
        }),
      );
    });
    const bare = seconds(() => {
      for (const lines of texts) for (const line of lines) JSON.parse(line);
    });
    return {
      name: `two runs compared, ${count === CALLS ? '10,000 calls each: ' : ''}${name}`,
      value: `${took.toFixed(2)} s`,
      reference: `${bare.toFixed(2)} s to parse them`,
      ratio: took / bare,
      // 320 MB of inputs: reading them is most of the work.
      target: name.includes('kB') ? null : `≤ ${SECONDS_MAX} s`,
      ok: name.includes('kB') ? null : took <= SECONDS_MAX,
    };
  });
}
