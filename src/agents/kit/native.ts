/** Foreign values typed with the fields seen in recordings, and readers that check the value first. */
import * as foreign from '../../lib/foreign.ts';

export * from '../../lib/foreign.ts';

declare const fields: unique symbol;
interface Held<F> {
  readonly [fields]?: F;
}

/** A JSON value. If it is an object, or a list of objects, they have these fields; nothing guarantees that it is. */
export type Claim<F> = Held<F> | string | number | boolean | null;

/** An object with unknown fields. */
export type Open = foreign.Native;

/** The fields of a claim: `Inside<Stdout['assistant']['message']>`. */
export type Inside<C> = C extends Held<infer F> ? F : never;

type Names<Union> = Union extends unknown ? keyof Union : never;
type Claims<Union, Name> = Union extends unknown
  ? Name extends keyof Union
    ? unknown extends Union[Name]
      ? never
      : Inside<Union[Name]>
    : never
  : never;
type MergedFields<Union> = {
  readonly [Name in Names<Union>]?: [Claims<Union, Name>] extends [never]
    ? unknown
    : Claim<MergedFields<Claims<Union, Name>>>;
};

/** All fields of the records of these kinds: `Merged<Stdout>`, `` Merged<Stdout, `result/${string}`> ``. */
export type Merged<Kinds, Kind = keyof Kinds> = MergedFields<Kinds[keyof Kinds & Kind]>;

/** The records of two channels that one decoder reads: `Both<Stdout, Session>`. */
export type Both<A, B> = {
  readonly [Kind in keyof A | keyof B]: MergedFields<
    (Kind extends keyof A ? A[Kind] : never) | (Kind extends keyof B ? B[Kind] : never)
  >;
};

interface IsNative {
  <F = Open>(value: Claim<F> | undefined): value is Held<F> & F;
  (value: unknown): value is Open;
}
export const isNative = foreign.isNative as IsNative;

interface NativeOf {
  <F = Open>(value: Claim<F> | undefined): F | null;
  (value: unknown): Open | null;
}
/** The value as an object; null if it is not one. */
export const nativeOf = foreign.nativeOf as NativeOf;

/** The object in a JSON text; null if there is none. */
export function parsedOf(text: string): Open | null {
  try {
    return nativeOf(JSON.parse(text));
  } catch {
    return null;
  }
}

interface ListOf {
  <F>(value: Claim<F> | undefined): readonly Claim<F>[];
  (value: unknown): readonly unknown[];
}
/** The items of a list; empty if the value is not a list. */
export const listOf = foreign.listOf as ListOf;

/** For callers that must distinguish an empty list from no list. `Array.isArray` alone loses the fields. */
export const isList = Array.isArray as <F>(
  value: Claim<F> | undefined,
) => value is Held<F> & readonly Claim<F>[];
