/** One value for all bundles in this process: each bundle has a copy of every module in it. */
export function processWide<T>(name: string, make: () => T): T {
  const shared = globalThis as { [key: symbol]: unknown };
  const key = Symbol.for(`tacho.${name}`);
  shared[key] ??= make();
  return shared[key] as T;
}
