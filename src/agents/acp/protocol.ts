/** Messages of the protocol, and readers that the decoder and the client program share. */
import {
  type Claim,
  filledOf,
  type Inside,
  isNative,
  listOf,
  type Open,
  wordOf,
} from '../kit/native.ts';
import type { Stdout } from './generated/native.ts';

export type FromAgent = Inside<Stdout['agent->client']['msg']>;
export type FromClient = Inside<Stdout['client->agent']['msg']>;
export type Params = Inside<FromAgent['params']>;
export type ClientParams = Inside<FromClient['params']>;
export type Fault = Inside<FromAgent['error']>;
export type Result = Inside<FromAgent['result']>;
export type Update = Inside<Params['update']>;

/** The objects of a list. */
export function nativesOf<F>(value: Claim<F> | undefined): readonly F[];
export function nativesOf(value: unknown): readonly Open[];
export function nativesOf(value: unknown): readonly unknown[] {
  return listOf(value).filter((item) => isNative(item));
}

/** The joined texts of a list of blocks. */
export function joined(content: Claim<{ readonly text?: unknown }> | undefined): string {
  const texts = nativesOf(content).map((part) => wordOf(part.text));
  return texts.join('');
}

/** The first of `names` that is a non-empty string. */
export function firstText<F>(value: F | null, names: readonly (keyof F)[]): string | null {
  for (const name of names) {
    const text = filledOf(value?.[name]);
    if (text !== null) return text;
  }
  return null;
}

/** A field of `_meta`, or of one of its members: vendors keep theirs under their own name. */
export function metaField(meta: Open | null, names: readonly string[]): string | null {
  for (const place of [meta, ...Object.values(meta ?? {})]) {
    const text = isNative(place) ? firstText(place, names) : null;
    if (text !== null) return text;
  }
  return null;
}

/** The key of a JSON-RPC id, which is a number or a text; null: there is none. */
export function rpcKey(id: unknown): string | null {
  return typeof id === 'number' || typeof id === 'string' ? `${typeof id} ${id}` : null;
}
