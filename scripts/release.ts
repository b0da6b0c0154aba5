/**
 * `node scripts/release.ts v1.2.3`: checks that the tag, package.json and CHANGELOG.md name the same version.
 * Prints the section of the changelog as release notes.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..');
const HEADING = /^## \[([^\]]+)\](?: - (\d{4}-\d{2}-\d{2}))?$/;

/** The notes of a version; throws when the changelog has no dated section of it, or an empty one. */
export function releaseNotes(changelog: string, version: string): string {
  const lines = changelog.split('\n');
  const start = lines.findIndex((line) => HEADING.exec(line)?.[1] === version);
  if (start < 0) throw new Error(`CHANGELOG.md has no section "## [${version}] - DATE"`);
  const [, , date] = HEADING.exec(lines[start] ?? '') ?? [];
  if (date === undefined) throw new Error(`CHANGELOG.md: the section of ${version} has no date`);
  const length = lines.slice(start + 1).findIndex((line) => /^(?:## |\[[^\]]+\]: )/.test(line));
  const end = length < 0 ? lines.length : start + 1 + length;
  const notes = lines
    .slice(start + 1, end)
    .join('\n')
    .trim();
  if (notes === '') throw new Error(`CHANGELOG.md: the section of ${version} is empty`);
  return `${notes}\n`;
}

if (import.meta.main) {
  const [tag = ''] = process.argv.slice(2);
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  if (tag !== `v${version}`)
    throw new Error(
      `the tag is "${tag}", and package.json has version ${version}: use "v${version}"`,
    );
  process.stdout.write(releaseNotes(readFileSync(join(root, 'CHANGELOG.md'), 'utf8'), version));
}
