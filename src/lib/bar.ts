/** Bars behind the lines of a table. */

const WIDTH_MAX = 20;
const GAP = '  ';

/** A bar for a share of the largest figure, as long as the line has room for. A share above 0 is always visible. */
export function barText(share: number, room: number, unicode: boolean): string {
  const most = Math.min(WIDTH_MAX, room - GAP.length);
  if (most < 1 || !(share > 0)) return '';
  return `${GAP}${(unicode ? '█' : '#').repeat(Math.max(1, Math.round(share * most)))}`;
}
