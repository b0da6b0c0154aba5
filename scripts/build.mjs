// Bundles the sources into dist/. The command line is one small CommonJS file, and one more for what each command then
// needs: Node's ES-module loader, and many small files, would cost a good part of every start. The library is ES modules.
// Plain JavaScript: it also runs on older Node.
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { basename, dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build as bundle } from 'esbuild';
import { bundledPackages, noticesOf } from './notices.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const dist = join(root, 'dist');

/**
 * Node's own modules by the cheap way: an `import` of one makes all its exports at once, `node:fs` with every stream class.
 * Here each export is one property, read at the start, and only where it is used.
 * @type {import('esbuild').Plugin}
 */
const builtins = {
  name: 'builtins',
  setup(on) {
    on.onResolve({ filter: /^[a-z_:/0-9]+$/ }, ({ path, kind }) => {
      if (!isBuiltin(path)) return null;
      const namespace = kind === 'import-statement' ? 'builtin' : 'whole-builtin';
      return { path, namespace, sideEffects: false };
    });
    on.onLoad({ filter: /.*/, namespace: 'whole-builtin' }, ({ path }) => ({
      contents: `module.exports = process.getBuiltinModule(${JSON.stringify(path)});`,
    }));
    on.onLoad({ filter: /.*/, namespace: 'builtin' }, ({ path }) => {
      const names = Object.keys(process.getBuiltinModule(path) ?? {}).filter((name) =>
        /^\w+$/.test(name),
      );
      const lines = names.map(
        (name) => `export const ${name} = /* @__PURE__ */ (() => whole.${name})();`,
      );
      return {
        contents: `const whole = /* @__PURE__ */ process.getBuiltinModule(${JSON.stringify(path)});
export default whole;
${lines.join('\n')}`,
      };
    });
  },
};

/**
 * Modules that commander imports for what tacho never does: loaded only if it did.
 * @type {Record<string, string[]>}
 */
const SELDOM = { 'node:child_process': ['spawn'], 'node:util': ['stripVTControlCharacters'] };

/** @type {import('esbuild').Plugin} */
const seldom = {
  name: 'seldom',
  setup(on) {
    on.onResolve({ filter: /^node:(child_process|util)$/ }, ({ path, importer }) =>
      importer.includes(join('node_modules', 'commander')) ? { path, namespace: 'seldom' } : null,
    );
    on.onLoad({ filter: /.*/, namespace: 'seldom' }, ({ path }) => ({
      contents: (SELDOM[path] ?? [])
        .map(
          (name) =>
            `exports.${name} = (...args) => process.getBuiltinModule('${path}').${name}(...args);`,
        )
        .join('\n'),
    }));
  },
};

/**
 * Modules that are loaded later: each becomes a file of its own.
 * @type {Map<string, string>}
 */
const later = new Map();

/** @type {import('esbuild').Plugin} */
const deferred = {
  name: 'deferred',
  setup(on) {
    on.onResolve({ filter: /^\./ }, ({ path, kind, resolveDir }) => {
      if (kind !== 'dynamic-import') return null;
      const source = resolve(resolveDir, path);
      const name = `${basename(dirname(source))}-${basename(source, '.ts')}`;
      later.set(name, source);
      return { path: `./${name}.cjs`, external: true };
    });
  },
};

/** @type {import('esbuild').Metafile[]} */
const metafiles = [];

/** @param {import('esbuild').BuildOptions} options */
async function build(options) {
  const { metafile } = await bundle({ ...options, metafile: true });
  metafiles.push(metafile);
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

/** Programs that tacho itself brings for an agent. */
const programs = Object.fromEntries(
  readdirSync(join(root, 'src/agents'))
    .filter((agent) => existsSync(join(root, 'src/agents', agent, 'program/main.ts')))
    .map((agent) => [`${agent}-agent`, `src/agents/${agent}/program/main.ts`]),
);

rmSync(dist, { recursive: true, force: true });
await build({
  ...commonJs,
  entryPoints: { cli: 'src/cli/main.ts' },
  plugins: [seldom, builtins, deferred],
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
await build({
  ...shared,
  entryPoints: { index: 'src/index.ts', ...programs },
  format: 'esm',
  splitting: true,
  chunkNames: 'chunks/[name]-[hash]',
  plugins: [builtins],
});
writeFileSync(join(dist, 'THIRD-PARTY-NOTICES'), noticesOf(root, bundledPackages(metafiles)));
if (process.argv.includes('--types')) {
  const tsc = join(root, 'node_modules', '.bin', 'tsc');
  execFileSync(tsc, ['-p', 'tsconfig.types.json'], { cwd: root, stdio: 'inherit' });
  const model = join(dist, 'types', 'model');
  cpSync(join(root, 'scripts', 'typebox.d.ts'), join(dist, 'types', 'typebox.d.ts'));
  for (const path of readdirSync(model).map((name) => join(model, name))) {
    if (!path.endsWith('.d.ts')) continue;
    const text = readFileSync(path, 'utf8');
    writeFileSync(path, text.replace(" from 'typebox';", " from '../typebox.ts';"));
  }
}
