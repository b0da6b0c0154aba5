/** The package, its workflows and templates name existing files, scripts, flags and versions. */
import { globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { releaseNotes } from '../../scripts/release.ts';

const root = join(import.meta.dirname, '..', '..');
const read = (path: string) => readFileSync(join(root, path), 'utf8');
const manifest = JSON.parse(read('package.json'));
const HOME = manifest.homepage.replace('#readme', '');

const files = globSync(
  ['*', '{bin,docs,schema,scripts,.ci}/**', '.github/**', 'src/agents/*/README.md'],
  { cwd: root, withFileTypes: true },
)
  .filter((entry) => entry.isFile() && !entry.parentPath.includes('node_modules'))
  .map((entry) => join(entry.parentPath, entry.name).slice(root.length + 1));
const yamls = files.filter((path) => /\.ya?ml$/.test(path));

interface Step {
  uses?: string;
  run?: string;
  with?: Record<string, unknown>;
}

/** Steps of workflows and actions. */
function stepsOf(path: string): Step[] {
  const { jobs = {}, runs } = parse(read(path)) as {
    jobs?: Record<string, { steps: Step[] }>;
    runs?: { steps: Step[] };
  };
  return [...Object.values(jobs), ...(runs ? [runs] : [])].flatMap(({ steps }) => steps);
}

const steps = yamls.flatMap((path) => stepsOf(path).map((step) => ({ path, ...step })));

describe('the package', () => {
  test('has the fields of a published package, and a single project address', () => {
    expect(manifest).toMatchObject({
      repository: { type: 'git', url: `git+${HOME}.git` },
      bugs: { url: `${HOME}/issues` },
      author: expect.any(String),
      license: 'MIT',
      publishConfig: { access: 'public', provenance: true },
    });
    const others = files
      .filter((path) => /\.(?:md|ya?ml|json|ts|mjs|cjs)$/.test(path))
      .flatMap((path) => read(path).match(/https:\/\/github\.com\/[\w-]+\/tacho\b/g) ?? [])
      .filter((address) => address !== HOME);
    expect(others).toEqual([]);
  });

  test('contains every page that its pages link to', () => {
    const always = ['README.md', 'LICENSE', 'package.json'];
    const parts = [...always, ...manifest.files].map((part: string) =>
      part.replaceAll('.', '\\.').replaceAll('*', '[^/]+'),
    );
    const shipped = new RegExp(`^(?:${parts.join('|')})(?:/|$)`);
    const isIn = (path: string) => shipped.test(path);
    const pages = files.filter((path) => path.endsWith('.md') && isIn(path));
    expect(pages).toContain('docs/index.md');
    const outside = pages.flatMap((page) =>
      [...read(page).matchAll(/\]\(([^)#\s]+)(?:#[^)]*)?\)/g)]
        .map(([, link = '']) => link)
        .filter((link) => !/^[a-z]+:/.test(link))
        .filter((link) => !isIn(normalize(join(dirname(page), link))))
        .map((link) => `${page}: ${link}`),
    );
    expect(outside).toEqual([]);
  });

  test('the documentation index lists every page of the guide and the reference', () => {
    const index = read('docs/index.md');
    const pages = files.filter((path) => /^docs\/(?:guide|reference)\/.*\.md$/.test(path));
    expect(pages.filter((path) => !index.includes(`(${path.slice('docs/'.length)})`))).toEqual([]);
  });

  test('the README has at most 120 lines of at most 120 columns', () => {
    const lines = read('README.md').split('\n');
    expect(lines.length).toBeLessThanOrEqual(121);
    expect(lines.filter((line) => [...line].length > 120)).toEqual([]);
  });
});

describe('workflows, actions and templates', () => {
  test('are valid YAML', () => {
    expect(yamls).toEqual(expect.arrayContaining(['action.yml', '.github/workflows/ci.yml']));
    for (const path of yamls) expect(parse(read(path)), path).toBeTypeOf('object');
  });

  test('use actions by their major version, one version per action', () => {
    const used = new Set(steps.flatMap(({ uses = [] }) => uses));
    for (const action of used) expect(action).toMatch(/^[\w-]+\/[\w-]+@v\d+$/);
    expect(new Set([...used].map((action) => action.split('@')[0])).size).toBe(used.size);
  });

  test('run existing files, npm scripts and options', () => {
    const reference = read('docs/reference/cli.md');
    for (const { path, run = '' } of steps) {
      for (const [, file = ''] of run.matchAll(/(?:^|node )((?:\.ci|scripts)\/[\w./-]+)/gm))
        expect(files, path).toContain(file);
      for (const [, script = ''] of run.matchAll(/npm run ([\w-]+)/g))
        expect(Object.keys(manifest.scripts), path).toContain(script);
      const [, command = ''] = /tacho run (.*)/.exec(run) ?? [];
      const flags = [...command.matchAll(/--[a-z-]+/g)].map(([flag]) => flag);
      expect(flags.filter((flag) => !reference.includes(`\`${flag} `))).toEqual([]);
    }
    expect(steps.some(({ run }) => run === '.ci/run')).toBe(true);
  });

  test("a person's input is never part of a shell script", () => {
    for (const { path, run = '' } of steps) expect(run, path).not.toContain('${{ inputs');
  });

  test('issue forms have a name, a description and fields with unique ids', () => {
    for (const path of files.filter((each) => /ISSUE_TEMPLATE\/(?!config)/.test(each))) {
      const form = parse(read(path));
      expect(form, path).toMatchObject({
        name: expect.any(String),
        description: expect.any(String),
      });
      const ids = form.body.map(({ id }: { id: string }) => id);
      expect(new Set(ids).size, path).toBe(ids.length);
    }
  });
});

describe('the Dockerfile', () => {
  // The tests have no container engine to build it.
  const lines = read('Dockerfile')
    .replaceAll('\\\n', ' ')
    .split('\n')
    .filter((line) => /^[A-Z]+ /.test(line));
  test('uses the Node version of the package, takes only the tarball, and does not run as root', () => {
    const [needed] = /\d+/.exec(manifest.engines.node) ?? [];
    expect(lines[0]).toBe(`FROM node:${needed}-slim`);
    expect(lines.filter((line) => line.startsWith('COPY '))).toEqual([
      `COPY ${manifest.name}-\${VERSION}.tgz /opt/tacho.tgz`,
    ]);
    expect(read('.dockerignore')).toBe('*\n!tacho-*.tgz\n');
    const order = ['USER node', 'WORKDIR /work', 'ENTRYPOINT ["tacho"]', 'CMD ["--help"]'];
    expect(lines.slice(-4)).toEqual(order);
    expect(Object.keys(manifest.bin)).toEqual(['tacho']);
  });
});

describe('release notes', () => {
  const text =
    '# Changelog\n\n## [Unreleased]\n\n## [1.1.0] - 2026-01-02\n\n- one\n\n## [1.0.0]\n\n- two\n';
  test('are the section for the version, which must have a date and a text', () => {
    expect(releaseNotes(text, '1.1.0')).toBe('- one\n');
    expect(() => releaseNotes(text, '1.0.0')).toThrow(/no date/);
    expect(() => releaseNotes(text, '9.9.9')).toThrow(/no section/);
    expect(() => releaseNotes(text.replace('- one\n', ''), '1.1.0')).toThrow(/empty/);
  });

  test('exist for the current package version', () => {
    expect(releaseNotes(read('CHANGELOG.md'), manifest.version)).toMatch(/^\S/);
  });
});
