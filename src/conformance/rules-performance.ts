/** Criteria 5.1–5.2: throughput over an hour, and memory. */
import { AGENT_MESSAGE_TYPES } from '../model/live-words.ts';
import type { SectionRule } from './rule.ts';
import { delayOf } from './rules-timing.ts';
import { NOWHERE } from './types.ts';

const MINUTE_MS = 60_000;
/** 100 per second, less 1 % that may arrive on the other side of a minute boundary. */
const EVENTS_PER_MINUTE = 99 * 60;
const MINUTES = 60;
const LATE_MS = 100;
const LATE_SHARE = 0.05;

/** Consecutive minutes with enough events, by the receiver's clock. */
interface Stretch {
  minutes: number;
  events: number;
  late: number;
  lost: number;
}
const nothingYet = (): Stretch => ({ minutes: 0, events: 0, late: 0, lost: 0 });

function stretchFault({ events, late, lost }: Stretch): string | null {
  if (lost > 0) return `${lost} messages were lost at 100 events per second`;
  const share = late / events;
  if (share <= LATE_SHARE) return null;
  return `${(share * 100).toFixed(1)} % of the events took more than ${LATE_MS} ms`;
}

const throughput: SectionRule = {
  id: '5.1',
  title: '100 events per second for an hour',
  types: AGENT_MESSAGE_TYPES,
  nothing: 'arrival times are unknown',
  create(tally) {
    let minute = Number.NaN;
    let now = nothingYet();
    let stretch = nothingYet();
    let longest = 0;
    let arrivals = 0;

    function closeMinute(next: number): void {
      // The first and last minutes are seldom complete. A minute with too few events ends the stretch.
      if (now.events >= EVENTS_PER_MINUTE) {
        stretch.minutes += 1;
        stretch.events += now.events;
        stretch.late += now.late;
        stretch.lost += now.lost;
      } else stretch = nothingYet();
      longest = Math.max(longest, stretch.minutes);
      if (stretch.minutes === MINUTES) {
        tally.judge(NOWHERE, stretchFault(stretch));
        stretch = nothingYet();
      }
      if (next !== minute + 1) stretch = nothingYet();
      now = nothingYet();
    }

    return {
      push(item) {
        const delay_ms = delayOf(item);
        if (delay_ms === null || item.received_ms === null || item.seq === null) return;
        arrivals += 1;
        const at = Math.floor(item.received_ms / MINUTE_MS);
        // Recorded arrival times may go back a little.
        if (!(at <= minute)) {
          if (!Number.isNaN(minute)) closeMinute(at);
          minute = at;
        }
        now.events += 1;
        if (delay_ms > LATE_MS) now.late += 1;
        if (item.sequence === 'gap') now.lost += item.seq - item.expected_seq;
        if (item.sequence === 'late') now.lost = Math.max(0, now.lost - 1);
      },
      end() {
        if (!Number.isNaN(minute)) closeMinute(Number.NaN);
      },
      nothing: () =>
        arrivals === 0
          ? 'arrival times are unknown'
          : `the stream has ${longest} minutes at 100 events per second, and ${MINUTES} are needed; see the benchmark`,
    };
  },
};

const MEMORY_BYTES_MAX = 50 * 1024 * 1024;
/** The minimum for a statement about growth. */
const SAMPLES_MIN = 10;
const GROWTH_MAX = 1.25;
/** Smaller changes come from garbage collection. */
const GROWTH_BYTES_MIN = 8 * 1024 * 1024;

const memory: SectionRule = {
  id: '5.2',
  title: 'at most 50 MB more memory, without growth',
  types: [],
  nothing: 'a stream does not show memory; the collector and the benchmark measure it',
  create(tally) {
    let samples = 0;
    /** Running means of the first and of the latest samples. */
    let early = 0;
    let recent = 0;
    return {
      push() {},
      memory(bytes) {
        samples += 1;
        if (samples <= SAMPLES_MIN) early += (bytes - early) / samples;
        recent += (bytes - recent) / Math.min(samples, SAMPLES_MIN);
        const over = bytes > MEMORY_BYTES_MAX;
        tally.judge(
          NOWHERE,
          over ? `${Math.round(bytes / 1e6)} MB more than an idle process` : null,
        );
        if (samples < 2 * SAMPLES_MIN || samples % SAMPLES_MIN > 0) return;
        const grows = recent > early * GROWTH_MAX && recent - early > GROWTH_BYTES_MIN;
        const [from, to] = [early, recent].map((bytes) => Math.round(bytes / 1e6));
        tally.judge(NOWHERE, grows ? `memory grew from ${from} to ${to} MB` : null);
      },
      unjudged: () => (samples < 2 * SAMPLES_MIN ? ['memory growth: too few samples'] : []),
    };
  },
};

export const PERFORMANCE_RULES: readonly SectionRule[] = [throughput, memory];
