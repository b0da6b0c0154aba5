/** Versions as package registries order them (Semantic Versioning 2.0.0, clause 11), with any number of parts. */

interface Version {
  readonly parts: readonly string[];
  /** Empty: a release, which comes after all of its prereleases. */
  readonly prerelease: readonly string[];
}

function parsed(text: string): Version {
  // Build metadata has no order.
  const [release = ''] = text
    .trim()
    .replace(/^v(?=\d)/, '')
    .split('+');
  const dash = release.indexOf('-');
  const dots = (some: string) => (some === '' ? [] : some.split('.'));
  if (dash < 0) return { parts: dots(release), prerelease: [] };
  return { parts: dots(release.slice(0, dash)), prerelease: dots(release.slice(dash + 1)) };
}

const isNumber = (part: string) => /^\d+$/.test(part);

/** Numbers by value and before words; words by code unit. */
function compareParts(a: string, b: string): number {
  if (!isNumber(a) || !isNumber(b)) {
    if (isNumber(a) !== isNumber(b)) return isNumber(a) ? -1 : 1;
    return a < b ? -1 : a > b ? 1 : 0;
  }
  const [left, right] = [BigInt(a), BigInt(b)];
  return left < right ? -1 : left > right ? 1 : 0;
}

/** `missing`: replaces a part that only the other list has. Null: the shorter list comes first. */
function compareLists(a: readonly string[], b: readonly string[], missing: string | null): number {
  for (let at = 0; at < Math.max(a.length, b.length); at++) {
    const [left, right] = [a[at] ?? missing, b[at] ?? missing];
    if (left === null || right === null) return left === null ? -1 : 1;
    const order = compareParts(left, right);
    if (order !== 0) return order;
  }
  return 0;
}

/** Negative if `a` is the earlier version, positive if it is the later one, 0 if they are equal in rank. */
export function compareVersions(a: string, b: string): number {
  const [left, right] = [parsed(a), parsed(b)];
  const order = compareLists(left.parts, right.parts, '0');
  if (order !== 0) return order;
  const [one, other] = [left.prerelease, right.prerelease];
  if (one.length === 0 || other.length === 0) return Math.sign(other.length - one.length);
  return compareLists(one, other, null);
}
