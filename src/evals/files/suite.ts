/** The state of reading an eval file. */

import type { Report, Source } from '../../lib/schema/mistakes.ts';
import type { EvalTest } from '../types.ts';
import type { NamedTool, ToolNames } from './tool-names.ts';

/** Files that an eval file names. */
export interface Files {
  /** The text of `name` as seen from the file `from`; null if there is no such file. */
  open(from: string, name: string): { path: string; text: string } | null;
  /** The folder of `from`, or one below. */
  folder(from: string, name: string | undefined): string;
}

type Shared =
  | 'threshold'
  | 'repeat'
  | 'target'
  | 'timeout_ms'
  | 'workspace'
  | 'input'
  | 'assertions';

/** Settings from outside the file. */
export interface Known {
  /** The judging model if the file names none. */
  model?: Suite['model'];
  /** Without them, names of tools are not checked. */
  toolNames?: () => Promise<ToolNames>;
}

/** Settings of a whole file. */
export interface Suite extends Pick<EvalTest, Shared> {
  source: Source;
  files: Files;
  report: Report;
  /** For tests without their own input. */
  prompt: unknown;
  model: Readonly<Record<string, unknown>>;
  /** Tools that expectations name; filled while the file is read. */
  named_tools: NamedTool[];
}
