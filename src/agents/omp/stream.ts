/** The stdout decoder: that of the family. */
export { stream } from '../kit/pi-family/stream.ts';
