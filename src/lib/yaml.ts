/** The YAML reader, loaded when it is needed. A file of our own: imported as it is, the bundled package has no names. */
export { LineCounter, parseDocument } from 'yaml';
