import { type Option, unwrapOption } from '@solana/web3.js';
import { type Extension, getMintDecoder, TOKEN_2022_PROGRAM_ADDRESS } from '@solana-program/token-2022';
import type { KeptAccount } from './ledger-state.ts';

/**
 * Returns a Token-2022 mint as validators format it for `jsonParsed`, with the extensions that
 * collections' accounts use; null for any other account.
 */
export function parsedMint({ owner, data }: KeptAccount) {
  if (owner !== TOKEN_2022_PROGRAM_ADDRESS) return null;
  const bytes = Buffer.from(data, 'base64');
  try {
    const { mintAuthority, supply, decimals, isInitialized, freezeAuthority, extensions } =
      getMintDecoder().decode(bytes);
    const info = {
      mintAuthority: unwrapOption(mintAuthority),
      supply: String(supply),
      decimals,
      isInitialized,
      freezeAuthority: unwrapOption(freezeAuthority),
      extensions: (unwrapOption(extensions as Option<Extension[]>) ?? []).flatMap(parsedExtension),
    };
    return { program: 'spl-token-2022', parsed: { type: 'mint', info }, space: bytes.length };
  } catch {
    return null;
  }
}

function parsedExtension(extension: Extension): { extension: string; state: object }[] {
  switch (extension.__kind) {
    case 'MetadataPointer': {
      const { authority, metadataAddress } = extension;
      const state = { authority: unwrapOption(authority), metadataAddress: unwrapOption(metadataAddress) };
      return [{ extension: 'metadataPointer', state }];
    }
    case 'MintCloseAuthority':
      return [{ extension: 'mintCloseAuthority', state: { closeAuthority: extension.closeAuthority } }];
    case 'TokenMetadata': {
      const { updateAuthority, mint, name, symbol, uri, additionalMetadata } = extension;
      const state = {
        updateAuthority: unwrapOption(updateAuthority),
        mint,
        name,
        symbol,
        uri,
        additionalMetadata: [...additionalMetadata],
      };
      return [{ extension: 'tokenMetadata', state }];
    }
    default:
      return [];
  }
}
