/** Signals while agents run: they end the work in good order, and no longer this process at once. */

/** A repeated signal within this time is the same one: a terminal sends it to the launcher and to us at once. */
const SAME_SIGNAL_MS = 300;

/** Calls `take` for every signal from here on. Returns what gives the signals back to the process. */
export function catchSignals(take: (signal: NodeJS.Signals) => void): () => void {
  let last = -SAME_SIGNAL_MS;
  const onSignal = (signal: NodeJS.Signals) => {
    const now = performance.now();
    if (now - last < SAME_SIGNAL_MS) return;
    last = now;
    take(signal);
  };
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  for (const signal of signals) process.on(signal, onSignal);
  return () => {
    for (const signal of signals) process.off(signal, onSignal);
  };
}
