/**
 * Installs an agent's CLI, at its pinned version, into a separate cache folder.
 * Contract: never uses a CLI that is already on the machine, runs no install script, and leaves
 * either a complete installation or none.
 */
import { spawn } from 'node:child_process';
import { access, constants, mkdir, readFile, rename, rm, symlink } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join, relative } from 'node:path';

interface Pinned {
  /** The npm package; its pinned version is beside it. */
  name: string;
  version: string;
}

export interface Package extends Pinned {
  /** Path of the program inside the installation, for this machine; null: there is no build for it. */
  program: string | null;
  /** Packages that the CLI would otherwise download on first use. */
  beside?: readonly Pinned[];
  /** The program's file in the package, if npm cannot install its dependencies and it needs none except `beside`. */
  bundle?: string;
  /** Completes the installation in this folder, instead of the package's install script. */
  finish?(root: string): Promise<void>;
}

export interface Installed {
  root: string;
  /** Relative to `root`. */
  program: string;
}

class InstallError extends Error {}

function cacheRoot(env: NodeJS.ProcessEnv = process.env): string {
  const own = env.TACHO_REHEARSAL_CACHE;
  if (own) return own;
  return join(env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'tacho-rehearsal');
}

/** `say` receives one line per notable step. */
export async function install(
  agent: string,
  wanted: Package,
  say: (line: string) => unknown,
): Promise<Installed> {
  const spec = specOf(wanted);
  if (wanted.program === null) {
    throw new InstallError(`${spec} has no build for ${process.platform}-${process.arch}`);
  }
  const root = join(cacheRoot(), `${agent}@${wanted.version}`);
  const found = { root, program: wanted.program };
  if (await isWhole(root, wanted)) return found;
  say(`${agent}: installing ${spec} into ${root} (once; a few hundred megabytes)`);
  const part = `${root}.part-${process.pid}`;
  try {
    await mkdir(part, { recursive: true });
    await fill(part, wanted);
    if (!(await isWhole(part, wanted))) {
      throw new InstallError(`npm installed ${spec}, but ${wanted.program} is not in it`);
    }
    await rm(root, { recursive: true, force: true });
    await rename(part, root).catch(async (cause: unknown) => {
      // Another rehearsal was faster: its installation is equivalent.
      if (!(await isWhole(root, wanted))) throw cause;
    });
  } finally {
    await rm(part, { recursive: true, force: true });
  }
  say(`${agent}: installed`);
  return found;
}

async function fill(folder: string, wanted: Package): Promise<void> {
  const { name, program, bundle, beside = [] } = wanted;
  const packages = bundle === undefined ? pinned(wanted) : beside;
  if (packages.length > 0) await npmInstall(folder, packages.map(specOf));
  if (bundle !== undefined && program !== null) {
    const own = join(folder, 'node_modules', name);
    await mkdir(own, { recursive: true });
    await run('npm', ['pack', '--pack-destination', folder, specOf(wanted)]);
    await run('tar', ['-xzf', join(folder, tarballOf(wanted)), '--strip-components=1', '-C', own]);
    const link = join(folder, program);
    await mkdir(dirname(link), { recursive: true });
    await symlink(relative(dirname(link), join(own, bundle)), link);
  }
  await wanted.finish?.(folder);
}

/** The file that `npm pack` writes. */
const tarballOf = ({ name, version }: Pinned) =>
  `${name.replace(/^@/, '').replace('/', '-')}-${version}.tgz`;

const pinned = (wanted: Package): Pinned[] => [wanted, ...(wanted.beside ?? [])];
const specOf = ({ name, version }: Pinned) => `${name}@${version}`;

async function isWhole(root: string, wanted: Package): Promise<boolean> {
  try {
    for (const one of pinned(wanted)) {
      const manifest = join(root, 'node_modules', one.name, 'package.json');
      const { version } = JSON.parse(await readFile(manifest, 'utf8')) as { version?: unknown };
      if (version !== one.version) return false;
    }
    await access(join(root, wanted.program ?? ''), constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function npmInstall(folder: string, specs: readonly string[]): Promise<void> {
  const args = ['install', '--ignore-scripts', '--no-save', '--no-audit', '--no-fund'];
  return run('npm', [...args, '--prefix', folder, ...specs]);
}

function run(command: string, args: readonly string[]): Promise<void> {
  const what = `${command} ${args.join(' ')}`;
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { stdio: ['ignore', 'ignore', 'pipe'] });
    let said = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      said = (said + text).slice(-4096);
    });
    child.on('error', (cause) => reject(new InstallError(`${what}: ${cause.message}`)));
    child.on('close', (code) => {
      if (code === 0) resolve();
      else {
        const hint = 'is the registry reachable?';
        reject(new InstallError(`${what} failed (exit ${code}): ${hint}\n${said.trim()}`));
      }
    });
  });
}
