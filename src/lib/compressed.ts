/** Names of compressed text files: `x.jsonl.zst` contains `x.jsonl`. */
const COMPRESSED = /\.jsonl\.zst$/;

export const isCompressed = (path: string) => COMPRESSED.test(path);

/** The name of a file without its compression. */
export const plainName = (name: string) => name.replace(COMPRESSED, '.jsonl');
