/**
 * Frames of messages that are too large for one packet; others are sent without a frame.
 *
 * Bytes that begin like a frame but are not valid throw FrameError.
 * See docs/internals/transport.md.
 */
const FRAME = 0xff;
const PART = 1;
const ACKNOWLEDGEMENT = 2;
const ID_BYTES = 16;
const PART_HEAD_BYTES = 2 + ID_BYTES + 1 + 4 + 4 + 1;
const ACKNOWLEDGEMENT_BYTES = 2 + ID_BYTES + 4 + 1;
const SENDER_MAX_BYTES = 255;

/** Maximum size of a part's frame without its data. */
export const PART_FRAME_MAX_BYTES = PART_HEAD_BYTES + SENDER_MAX_BYTES;

/** A part of a message: `data` belongs at `offset` of its `messageBytes`. */
export interface FramePart {
  kind: 'part';
  /** Hex, unique among all nodes. */
  id: string;
  sender: string;
  acknowledge: boolean;
  offset: number;
  messageBytes: number;
  data: Buffer;
}

/** The receiver's report to a message's sender: bytes received, or that it refuses the message. */
export interface Acknowledgement {
  kind: 'acknowledgement';
  id: string;
  receivedBytes: number;
  refused: boolean;
}

class FrameError extends Error {
  override name = 'FrameError';
}

/** Whether received bytes are a frame rather than a whole message. */
export function isFrame(bytes: Uint8Array): boolean {
  return bytes[0] === FRAME;
}

export function encodePart({ id, sender, acknowledge, offset, messageBytes, data }: Omit<FramePart, 'kind'>): Buffer {
  const name = Buffer.from(sender, 'utf8');
  if (name.length > SENDER_MAX_BYTES) throw new RangeError(`A node's name is longer than ${SENDER_MAX_BYTES} bytes.`);
  const head = Buffer.alloc(PART_HEAD_BYTES);
  head[0] = FRAME;
  head[1] = PART;
  head.write(id, 2, ID_BYTES, 'hex');
  head[18] = acknowledge ? 1 : 0;
  head.writeUInt32BE(offset, 19);
  head.writeUInt32BE(messageBytes, 23);
  head[27] = name.length;
  return Buffer.concat([head, name, data]);
}

export function encodeAcknowledgement({ id, receivedBytes, refused }: Omit<Acknowledgement, 'kind'>): Buffer {
  const frame = Buffer.alloc(ACKNOWLEDGEMENT_BYTES);
  frame[0] = FRAME;
  frame[1] = ACKNOWLEDGEMENT;
  frame.write(id, 2, ID_BYTES, 'hex');
  frame.writeUInt32BE(receivedBytes, 18);
  frame[22] = refused ? 1 : 0;
  return frame;
}

/** Decodes a frame; throws FrameError. The `data` of a part is a view of `bytes`. */
export function decodeFrame(bytes: Buffer): FramePart | Acknowledgement {
  const id = bytes.toString('hex', 2, 2 + ID_BYTES);
  if (bytes[1] === ACKNOWLEDGEMENT && bytes.length === ACKNOWLEDGEMENT_BYTES)
    return { kind: 'acknowledgement', id, receivedBytes: bytes.readUInt32BE(18), refused: bytes[22] === 1 };
  const senderBytes = bytes[27];
  if (bytes[1] !== PART || senderBytes === undefined || bytes.length <= PART_HEAD_BYTES + senderBytes)
    throw new FrameError('not a valid frame');
  const data = bytes.subarray(PART_HEAD_BYTES + senderBytes);
  const offset = bytes.readUInt32BE(19);
  const messageBytes = bytes.readUInt32BE(23);
  if (offset + data.length > messageBytes) throw new FrameError('a part extends beyond its message');
  const sender = bytes.toString('utf8', PART_HEAD_BYTES, PART_HEAD_BYTES + senderBytes);
  return { kind: 'part', id, sender, acknowledge: bytes[18] === 1, offset, messageBytes, data };
}
