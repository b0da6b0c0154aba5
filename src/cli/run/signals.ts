/** Signals while an agent runs: they end the run in good order, and no longer this process at once. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { RunControl } from '../../app/run/run.ts';

/** A repeated signal within this time is the same one: a terminal tells the launcher and us at once. */
const SAME_SIGNAL_MS = 300;

export interface Signals {
  /** Passes signals on to the run, also one that came while it was being started. */
  to(control: RunControl): void;
  came(): boolean;
  /** False as soon as a signal comes. */
  pause(wait_ms: number): Promise<boolean>;
  release(): void;
}

/** From here on a signal ends the run in good order and no longer this process at once. */
export function catchSignals(): Signals {
  let control: RunControl | null = null;
  let early: NodeJS.Signals | null = null;
  let last = -SAME_SIGNAL_MS;
  const first = new AbortController();
  const onSignal = (signal: NodeJS.Signals) => {
    const now = performance.now();
    if (now - last < SAME_SIGNAL_MS) return;
    last = now;
    early ??= signal;
    first.abort();
    control?.abort(signal);
  };
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  for (const signal of signals) process.on(signal, onSignal);
  return {
    to(started) {
      control = started;
      if (early !== null) control.abort(early);
    },
    came: () => early !== null,
    pause: (wait_ms) =>
      sleep(wait_ms, undefined, { signal: first.signal }).then(
        () => true,
        () => false,
      ),
    release() {
      for (const signal of signals) process.off(signal, onSignal);
    },
  };
}
