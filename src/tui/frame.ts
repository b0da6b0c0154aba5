import type { RunScreen } from './run-view.ts';

/** Everything that a picture of a run depends on. */
export interface Frame extends RunScreen {
  now_ms: number;
  /** Path prefixes that are shown as `~`. */
  home: string | null;
  /** Whether the record of a past run is still being read. */
  loading: boolean;
}
