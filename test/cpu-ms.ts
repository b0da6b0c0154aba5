/** CPU time of this thread in ms: unlike the clock, it excludes other processes. */
export function cpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}
