/** Handles signals while a command works: the command finishes cleanly instead of ending immediately. */

/** A repeated signal within this time is the same one: a terminal sends it both to the launcher and to this process. */
export const SAME_SIGNAL_MS = 300;

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Calls `take` for every signal from here on. Returns a function that restores the default handling. */
export function onSignals(take: (signal: NodeJS.Signals) => void): () => void {
  for (const signal of SIGNALS) process.on(signal, take);
  return () => {
    for (const signal of SIGNALS) process.off(signal, take);
  };
}

/** The same, once for signals that arrive together. */
export function catchSignals(take: (signal: NodeJS.Signals) => void): () => void {
  let last = -SAME_SIGNAL_MS;
  return onSignals((signal) => {
    const now = performance.now();
    if (now - last < SAME_SIGNAL_MS) return;
    last = now;
    take(signal);
  });
}
