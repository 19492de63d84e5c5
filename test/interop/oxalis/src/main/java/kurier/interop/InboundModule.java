package kurier.interop;

import com.google.inject.AbstractModule;

import network.oxalis.api.inbound.InboundService;

/** Behind the AS4 servlet: nothing is counted, the default persister of Oxalis writes what arrives. */
public final class InboundModule extends AbstractModule
{
  @Override
  protected void configure ()
  {
    bind (InboundService.class).toInstance (metadata -> {});
  }
}
