/** An older Node started us through the launcher: when that process is killed, this one must be gone too. */

export async function followLauncher(env: NodeJS.ProcessEnv): Promise<void> {
  const fd = Number(env.TACHO_LAUNCHER_FD);
  delete env.TACHO_LAUNCHER_FD;
  if (!Number.isInteger(fd) || fd < 3) return;
  const { Socket } = await import('node:net');
  const launcher = new Socket({ fd, readable: true, writable: false });
  const die = () => process.kill(process.pid, 'SIGKILL');
  launcher.on('error', die).on('end', die).resume();
  launcher.unref();
}
