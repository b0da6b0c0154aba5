// Bundles the sources into dist/. The command line is one small CommonJS file, plus one file per command: Node's
// ES-module loader and many small files would take a good part of every start. The library is ES modules.
// Plain JavaScript: this also runs on older Node.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire, isBuiltin } from 'node:module';
import { basename, dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build as bundle } from 'esbuild';
import { bundledPackages, noticesOf } from './notices.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const dist = join(root, 'dist');

/** Node's own modules that are loaded before Node runs a file. */
const LOADED = ['buffer', 'events', 'fs', 'path', 'process', 'timers', 'url', 'util'];

/**
 * Cheap access to Node's own modules: an `import` creates all exports of a module, for `node:fs` every stream class.
 * Here each export is one property that is read at the start, and only if it is used. Modules that Node has not loaded
 * yet are loaded at the first read of an export: `node:crypto` alone takes 5 ms.
 * @type {import('esbuild').Plugin}
 */
const builtins = {
  name: 'builtins',
  setup(on) {
    on.onResolve({ filter: /^[a-z_:/0-9]+$/ }, ({ path, kind }) => {
      if (!isBuiltin(path)) return null;
      const loaded = LOADED.includes(path.replace('node:', ''));
      const imported = loaded ? 'builtin' : 'lazy-builtin';
      const namespace = kind === 'import-statement' ? imported : 'whole-builtin';
      return { path, namespace, sideEffects: false };
    });
    on.onLoad({ filter: /.*/, namespace: 'whole-builtin' }, ({ path }) => ({
      contents: `module.exports = ${wholeOf(path)};`,
    }));
    on.onLoad({ filter: /.*/, namespace: 'builtin' }, ({ path }) => {
      const names = Object.keys(process.getBuiltinModule(path) ?? {}).filter((name) =>
        /^\w+$/.test(name),
      );
      const lines = names.map(
        (name) => `export const ${name} = /* @__PURE__ */ (() => whole.${name})();`,
      );
      return {
        contents: `const whole = /* @__PURE__ */ ${wholeOf(path)};
export default whole;
${lines.join('\n')}`,
      };
    });
    // esbuild gives the importing file an object with this prototype, and reads the export where it is used. The first
    // time puts it into that object.
    on.onLoad({ filter: /.*/, namespace: 'lazy-builtin' }, ({ path }) => ({
      contents: `module.exports = Object.create(new Proxy({}, {
  get(_, name, importer) {
    if (name === '__esModule') return undefined;
    const value = ${wholeOf(path)}[name];
    Object.defineProperty(importer, name, { value });
    return value;
  },
}));`,
    }));
  },
};

/** @param {string} path */
const wholeOf = (path) => `process.getBuiltinModule(${JSON.stringify(path)})`;

/**
 * Leaves out the modules that are loaded later: each becomes a separate file.
 * @param {Map<string, string>} later name → source; is filled
 * @param {(name: string) => string} pathOf
 * @returns {import('esbuild').Plugin}
 */
const deferring = (later, pathOf) => ({
  name: 'deferred',
  setup(on) {
    on.onResolve({ filter: /^\./ }, ({ path, kind, resolveDir }) => {
      if (kind !== 'dynamic-import') return null;
      const source = resolve(resolveDir, path);
      const name = `${basename(dirname(source))}-${basename(source, '.ts')}`;
      later.set(name, source);
      return { path: pathOf(name), external: true };
    });
  },
});

/** @type {Map<string, string>} */
const later = new Map();
const deferred = deferring(later, (name) => `./${name}.cjs`);

/** @type {import('esbuild').Metafile[]} */
const metafiles = [];

/** @param {import('esbuild').BuildOptions} options */
async function build(options) {
  const { metafile } = await bundle({ ...options, metafile: true });
  metafiles.push(metafile);
}

/**
 * Puts the hash of a file at its beginning. The launcher stores compiled code for it, which V8 itself checks only by
 * length.
 * @param {string} path
 */
function mark(path) {
  const source = readFileSync(path);
  const hash = createHash('sha256').update(source).digest('hex').slice(0, 28);
  writeFileSync(path, Buffer.concat([Buffer.from(`/*${hash}*/`), source]));
}

/** The texts that the launcher prints by itself, made by the current command line. */
async function writeFixedTexts() {
  const made = join(dist, 'fixed-texts.cjs');
  await bundle({
    ...commonJs,
    entryPoints: ['src/cli/fixed-texts.ts'],
    plugins: [builtins, deferred],
  });
  const { fixedTexts } = createRequire(made)(made);
  rmSync(made);
  mkdirSync(join(dist, 'texts'));
  for (const [name, text] of fixedTexts()) writeFileSync(join(dist, 'texts', `${name}.txt`), text);
}

/** @type {import('esbuild').BuildOptions} */
const shared = {
  absWorkingDir: root,
  outdir: 'dist',
  bundle: true,
  platform: 'node',
  target: 'node24',
  supported: { using: true },
  minifySyntax: true,
  minifyWhitespace: true,
  legalComments: 'none',
  logLevel: 'warning',
  // Its CommonJS form requires `process`, which a module cannot.
  alias: { yaml: join(root, 'node_modules', 'yaml', 'browser', 'index.js') },
};

/** @type {import('esbuild').BuildOptions} */
const commonJs = {
  ...shared,
  format: 'cjs',
  outExtension: { '.js': '.cjs' },
  supported: { ...shared.supported, 'dynamic-import': false },
  define: { 'import.meta.url': '__here' },
  banner: { js: "const __here = require('node:url').pathToFileURL(__filename).href;" },
};

/** Programs that tacho includes for an agent. */
const programs = Object.fromEntries(
  readdirSync(join(root, 'src/agents'))
    .filter((agent) => existsSync(join(root, 'src/agents', agent, 'program/main.ts')))
    .map((agent) => [`${agent}-agent`, `src/agents/${agent}/program/main.ts`]),
);

rmSync(dist, { recursive: true, force: true });
await build({
  ...commonJs,
  entryPoints: { cli: 'src/cli/main.ts' },
  plugins: [builtins, deferred],
});
for (const built = new Set(); built.size < later.size; ) {
  const entries = [...later].filter(([name]) => !built.has(name));
  for (const [name] of entries) built.add(name);
  await build({
    ...commonJs,
    entryPoints: Object.fromEntries(entries),
    plugins: [builtins, deferred],
  });
}
const LIBRARY = ['index', 'store', 'live', 'evals'];

/** The first code that runs in each file of the library. An older Node parses it: `using` is lowered. */
const NODE_CHECK = `if (Number.parseInt(process.versions.node) < 24) throw new Error(
  \`tacho needs Node.js 24 or newer; this is \${process.versions.node}. Run the program with a newer one: npx -y node@24 \${process.argv[1] ?? 'PROGRAM'}\`);`;

/** @type {import('esbuild').BuildOptions} */
const modules = {
  ...shared,
  format: 'esm',
  supported: { using: false },
  banner: { js: NODE_CHECK.replace(/\s+/g, ' ') },
};
/** Each entry of the library is one file, because each further file costs start time. Lazy modules share files. */
const laterModules = new Map();
await build({
  ...modules,
  entryPoints: Object.fromEntries(LIBRARY.map((name) => [name, `src/${name}.ts`])),
  plugins: [builtins, deferring(laterModules, (name) => `./later/${name}.js`)],
});
await build({
  ...modules,
  entryPoints: {
    ...Object.fromEntries([...laterModules].map(([name, path]) => [`later/${name}`, path])),
    ...programs,
  },
  splitting: true,
  chunkNames: 'chunks/[name]-[hash]',
  plugins: [builtins],
});
await writeFixedTexts();
for (const name of readdirSync(dist)) if (name.endsWith('.cjs')) mark(join(dist, name));
writeFileSync(join(dist, 'THIRD-PARTY-NOTICES'), noticesOf(root, bundledPackages(metafiles)));
if (process.argv.includes('--types')) {
  const tsc = join(root, 'node_modules', '.bin', 'tsc');
  execFileSync(tsc, ['-p', 'tsconfig.types.json'], { cwd: root, stdio: 'inherit' });
  execFileSync(process.execPath, ['scripts/types/bundle.ts'], { cwd: root, stdio: 'inherit' });
}
