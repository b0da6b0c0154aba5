// Bundles the sources into dist/: one file a command, loaded when it is needed. Plain JavaScript: it also runs on older Node.
import { execFileSync } from 'node:child_process';
import { cpSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const dist = join(root, 'dist');
const types = process.argv.includes('--types');

/** Node's own modules by the cheap way: an `import` of one makes all its exports at once, `node:fs` with every stream class. */
const builtins = {
  name: 'builtins',
  setup(on) {
    on.onResolve({ filter: /^node:/ }, ({ path }) => ({ path, namespace: 'builtin' }));
    on.onLoad({ filter: /.*/, namespace: 'builtin' }, ({ path }) => ({
      contents: `module.exports = process.getBuiltinModule(${JSON.stringify(path)});`,
    }));
  },
};

rmSync(dist, { recursive: true, force: true });
await build({
  absWorkingDir: root,
  entryPoints: {
    cli: 'src/cli/main.ts',
    index: 'src/index.ts',
    'demo-agent': 'src/agents/demo/program/main.ts',
  },
  outdir: 'dist',
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node24',
  minifySyntax: true,
  minifyWhitespace: true,
  keepNames: false,
  legalComments: 'none',
  chunkNames: 'chunks/[name]-[hash]',
  logLevel: 'warning',
  plugins: [builtins],
});
cpSync(join(root, 'src/agents/demo/scripts'), join(dist, 'demo-scripts'), { recursive: true });
if (types) {
  execFileSync(join(root, 'node_modules', '.bin', 'tsc'), ['-p', 'tsconfig.types.json'], {
    cwd: root,
    stdio: 'inherit',
  });
}
