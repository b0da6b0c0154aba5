/** A reader of foreign bytes, and what must hold whatever the bytes are. */
import type { Random } from './random.ts';

export interface FuzzInput {
  /** Which of the target's readers it is for. */
  about: string;
  bytes: Buffer;
  /** Sentences on what does not hold. What it throws is a fault, too. */
  check(bytes: Buffer): Promise<string[]>;
}

export interface FuzzTarget {
  name: string;
  /** The same for the same random numbers. */
  make(random: Random): FuzzInput;
  close(): Promise<void>;
}
