/**
 * Installs an agent's CLI, at its pinned version, into a separate cache folder.
 * Contract: never uses a CLI that is already on the machine, runs no install script, and leaves
 * either a complete installation or none.
 */
import { spawn } from 'node:child_process';
import { access, constants, mkdir, readFile, rename, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';

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
    await npmInstall(part, pinned(wanted).map(specOf));
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
  return new Promise((resolve, reject) => {
    const npm = spawn('npm', [...args, '--prefix', folder, ...specs], {
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let said = '';
    npm.stderr.setEncoding('utf8').on('data', (text: string) => {
      said = (said + text).slice(-4096);
    });
    npm.on('error', (cause) => reject(new InstallError(`npm could not be started: ${cause}`)));
    npm.on('close', (code) => {
      if (code === 0) resolve();
      else
        reject(
          new InstallError(
            `npm could not install ${specs.join(', ')} (exit ${code}): is the registry reachable?\n${said.trim()}`,
          ),
        );
    });
  });
}
