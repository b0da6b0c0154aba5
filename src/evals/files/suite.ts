/** What is known while an eval file is read. */

import type { Report, Source } from '../../lib/schema/mistakes.ts';
import type { Assertion, Message, Repeat } from '../types.ts';

/** Files that an eval file names. */
export interface Files {
  /** The text of `name` as seen from the file `from`; null when there is no such file. */
  open(from: string, name: string): { path: string; text: string } | null;
  /** The folder of `from`, or one below. */
  folder(from: string, name: string | undefined): string;
}

/** What holds for a whole file. */
export interface Suite {
  source: Source;
  files: Files;
  report: Report;
  threshold: number;
  repeat: Repeat;
  target: string | null;
  timeout_ms: number | null;
  workspace: string | null;
  input: readonly Message[];
  /** For tests without an input of their own. */
  prompt: unknown;
  assertions: readonly Assertion[];
  model: Readonly<Record<string, unknown>>;
}
