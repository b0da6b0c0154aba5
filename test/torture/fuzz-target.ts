/** A reader of foreign bytes, and the rules that hold for any bytes. */
import type { Random } from './random.ts';

export interface FuzzInput {
  /** The target's reader that it is for. */
  about: string;
  bytes: Buffer;
  /** The broken rules, one sentence each. Throwing is a fault, too. */
  check(bytes: Buffer): Promise<string[]>;
}

export interface FuzzTarget {
  name: string;
  /** The same random numbers give the same input. */
  make(random: Random): FuzzInput;
  close(): Promise<void>;
}
