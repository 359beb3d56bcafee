/** Entry of the body pool's threads, which decode the bodies of all dialects. */
import './pinecone/bodies.ts';
import './recall/bodies.ts';

export { default } from './bodies/body-worker.ts';
