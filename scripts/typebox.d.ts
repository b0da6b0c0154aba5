/**
 * What the published declarations need of typebox's types: each schema carries the type of what it describes. The package
 * has no dependencies, and without this every record would be `any` to a program that uses it.
 */
export interface TSchema<T = unknown> {
  readonly static: T;
}
export type Static<S> = S extends TSchema<infer T> ? T : never;

type Properties = Record<string, TSchema>;
type OptionalKeys<P> = {
  [K in keyof P]: P[K] extends Type.TOptional<TSchema> ? K : never;
}[keyof P];
type Flat<T> = { [K in keyof T]: T[K] };

export declare namespace Type {
  type TString = TSchema<string>;
  type TInteger = TSchema<number>;
  type TNumber = TSchema<number>;
  type TBoolean = TSchema<boolean>;
  type TNull = TSchema<null>;
  type TUnknown = TSchema<unknown>;
  type TLiteral<T> = TSchema<T>;
  type TUnsafe<T> = TSchema<T>;
  type TArray<S> = TSchema<Static<S>[]>;
  type TUnion<S extends readonly TSchema[]> = TSchema<Static<S[number]>>;
  type TRecord<_Key extends string, S> = TSchema<Record<string, Static<S>>>;
  type TOptional<S> = TSchema<Static<S>> & { readonly optional: true };
  type TObject<P extends Properties> = TSchema<
    Flat<
      { [K in Exclude<keyof P, OptionalKeys<P>>]: Static<P[K]> } & {
        [K in OptionalKeys<P>]?: Static<P[K]>;
      }
    >
  >;
}
