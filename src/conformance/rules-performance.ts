/** Criteria 5.1–5.2: what only hours and meters can show. */
import { AGENT_MESSAGE_TYPES } from '../model/live-words.ts';
import type { SectionRule } from './rule.ts';
import { delayOf } from './rules-timing.ts';
import { NOWHERE } from './types.ts';

const MINUTE_MS = 60_000;
/** 100 a second, less one of a hundred that may arrive on the other side of the minute's edge. */
const EVENTS_A_MINUTE = 99 * 60;
const MINUTES = 60;
const LATE_MS = 100;
const LATE_SHARE = 0.05;

/** A stretch of minutes that each had their events; minutes are counted by the receiver's clock. */
interface Stretch {
  minutes: number;
  events: number;
  late: number;
  lost: number;
}
const nothingYet = (): Stretch => ({ minutes: 0, events: 0, late: 0, lost: 0 });

function stretchFault({ events, late, lost }: Stretch): string | null {
  if (lost > 0) return `${lost} messages were lost at 100 events a second`;
  const share = late / events;
  if (share <= LATE_SHARE) return null;
  return `${(share * 100).toFixed(1)} % of the events took over ${LATE_MS} ms`;
}

const throughput: SectionRule = {
  id: '5.1',
  title: '100 events a second for an hour',
  types: AGENT_MESSAGE_TYPES,
  nothing: 'when the messages arrived is not known',
  create(tally) {
    let minute = Number.NaN;
    let now = nothingYet();
    let stretch = nothingYet();
    let longest = 0;
    let arrivals = 0;

    function closeMinute(next: number): void {
      // The first and the last minute are seldom whole; a poor one ends the stretch.
      if (now.events >= EVENTS_A_MINUTE) {
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
        // Arrivals do not go back; noted ones may, by a little.
        if (!(at <= minute)) {
          if (!Number.isNaN(minute)) closeMinute(at);
          minute = at;
        }
        now.events += 1;
        if (delay_ms > LATE_MS) now.late += 1;
        if (item.standing === 'gap') now.lost += item.seq - item.expected_seq;
        if (item.standing === 'late') now.lost = Math.max(0, now.lost - 1);
      },
      end() {
        if (!Number.isNaN(minute)) closeMinute(Number.NaN);
      },
      nothing: () =>
        arrivals === 0
          ? 'when the messages arrived is not known'
          : `${longest} minutes at 100 events a second, ${MINUTES} are needed: see the benchmark`,
    };
  },
};

const MEMORY_BYTES_MAX = 50 * 1024 * 1024;
/** Fewer say nothing of growth. */
const SAMPLES_MIN = 10;
const GROWTH_MAX = 1.25;
/** Below it, what changes is the garbage collector's rhythm. */
const GROWTH_BYTES_MIN = 8 * 1024 * 1024;

const memory: SectionRule = {
  id: '5.2',
  title: 'at most 50 MB more memory, and no growth',
  types: [],
  nothing: 'a stream does not show memory: the collector and the benchmark measure it',
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
        tally.judge(NOWHERE, over ? `${Math.round(bytes / 1e6)} MB above a bare process` : null);
        if (samples < 2 * SAMPLES_MIN || samples % SAMPLES_MIN > 0) return;
        const grows = recent > early * GROWTH_MAX && recent - early > GROWTH_BYTES_MIN;
        const [from, to] = [early, recent].map((bytes) => Math.round(bytes / 1e6));
        tally.judge(NOWHERE, grows ? `memory grows, from ${from} to ${to} MB` : null);
      },
      unjudged: () =>
        samples < 2 * SAMPLES_MIN ? ['growth: there are too few samples of the memory'] : [],
    };
  },
};

export const PERFORMANCE_RULES: readonly SectionRule[] = [throughput, memory];
