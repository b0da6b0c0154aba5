/** The states of runs as the watcher sees them: changes are reported, and a collector gets the ends of live sessions. */
import type { RunOutcome } from '../../model/outcome.ts';
import type { UnfinishedState } from '../../model/unfinished.ts';
import type { Index } from '../../store/index/index-db.ts';
import { forgetFinished, type States, unfinishedStates } from '../runs/unfinished.ts';
import type { createNotifier, NotifyRun } from './notify.ts';
import type { NotifyMemory } from './notify-memory.ts';
import type { WatchLive } from './watch-live.ts';

/** A run and its new state. Null: it is finished. */
export interface Stated extends NotifyRun {
  /** Its state, with the evidence; null if it is finished. */
  unfinished: UnfinishedState | null;
}

export interface StateParts {
  index: Index;
  memory: NotifyMemory;
  /** Null: there are no rules. */
  notifier: ReturnType<typeof createNotifier> | null;
  /** Null: nothing is sent to a collector. */
  live: WatchLive | null;
  /** Called for each run that got into another state, or was finished. */
  stated?: ((stated: Stated) => void) | undefined;
}

export function runOf({ run_id, agent, metadata }: RunOutcome): NotifyRun {
  return {
    run_id,
    agent,
    project: metadata.project?.path ?? null,
    prompt: metadata.initial_prompt,
  };
}

/** Looks at all unfinished runs. */
export async function lookAtStates(parts: StateParts): Promise<void> {
  const { index, live } = parts;
  const states = await unfinishedStates(index);
  forgetFinished(index, states);
  reportChanges(states, parts);
  await live?.tick(states);
}

function reportChanges(states: States, { index, memory, notifier, stated }: StateParts): void {
  for (const [run_id, unfinished] of memory.changes(states)) {
    const outcome = index.getRun(run_id);
    if (outcome === null) continue;
    const run = runOf(outcome);
    stated?.({ ...run, unfinished });
    notifier?.state(run, unfinished?.state ?? 'finished', unfinished?.reason ?? null);
  }
}
